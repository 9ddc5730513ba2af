/* Is it GPU memory, and copies between it and host memory. Any thread may call these. */
#ifndef GPUBIND_AWARE_GPU_BUFFER_H
#define GPUBIND_AWARE_GPU_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/* false as long as the process has not started CUDA, or with GPU-aware off, or behind a call of ours
 * (next.h): there are no GPU buffers. */
bool gpu_is_in_use(void);
/* Never makes a context. Managed and page-locked memory is host memory: MPI can access it. */
bool buffer_is_on_gpu(const void *buf);

/* In the order of the legacy stream of the memory's context, as cudaMemcpy. 0, or -1 with a
 * sentence on stderr. */
int buffer_to_host(void *host, const void *gpu, size_t nbytes);
int buffer_to_gpu(void *gpu, const void *host, size_t nbytes);

/* Makes the context of GPU memory current until buffer_leave; false: there is none. */
bool buffer_enter(const void *gpu);
void buffer_leave(void);

#endif
