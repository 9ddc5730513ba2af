/* Is it GPU memory, and copies between it and host memory. */
#ifndef GPUBIND_AWARE_GPU_BUFFER_H
#define GPUBIND_AWARE_GPU_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/* false as long as the process has not started CUDA. Never makes a context. Managed and page-locked
 * memory is host memory: MPI can access it. */
bool buffer_is_on_gpu(const void *buf);

/* From now on every buffer is host memory: MPI takes GPU memory by itself. */
void buffers_leave_to_mpi(void);

/* In the order of the context's legacy stream, as cudaMemcpy. 0, or -1 with a notice on stderr. */
int buffer_to_host(void *host, const void *gpu, size_t nbytes);
int buffer_to_gpu(void *gpu, const void *host, size_t nbytes);

/* Page-locked host memory from a pool; pageable where there is none, with one notice. NULL: out of
 * memory. */
void *host_take(size_t nbytes);
void host_give(void *memory, size_t nbytes);

#endif
