/* Is it GPU memory, and copies between it and host memory. Any thread may call these. */
#ifndef GPUBIND_AWARE_GPU_BUFFER_H
#define GPUBIND_AWARE_GPU_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "gpu/copy/row_copy.h"
#include "gpu/core/pointer_query.h"

/* false as long as the process has not started CUDA, or with GPU-aware off, or behind a call of ours
 * (next.h): there are no GPU buffers. */
bool gpu_is_in_use(void);
/* Starts CUDA where the process has not. 0, or -1 with a sentence. */
int gpu_use(struct gpubind_error *err);

enum buffer_place {
    BUFFER_HOST, /* also managed and page-locked memory: MPI can access it */
    BUFFER_GPU,
    BUFFER_LOST /* nobody can read it: GPU memory that was freed, or another process's */
};
/* Never makes a context. Synchronous copies of the application to GPU memory that was looked at are
 * done when they return (sync_memops.h). */
enum buffer_place buffer_place(const void *buf);
bool buffer_is_on_gpu(const void *buf);
/* The same, and the allocation that it lies in. */
bool buffer_allocation(const void *buf, struct allocation *allocation);

/* After earlier work in the legacy stream of the memory's context (copy_stream.h), and done when they
 * return. 0, or -1 with a sentence on stderr. */
int buffer_to_host(void *host, const void *gpu, size_t nbytes);
int buffer_to_gpu(void *gpu, const void *host, size_t nbytes);

/* Rows, as buffer_to_host and buffer_to_gpu; their GPU memory belongs to one context. The copies may
 * go on until buffer_wait has returned for the same memory. */
int buffer_copy_rows(const struct rows *rows, bool to_host);
int buffer_wait(gpu_address gpu);

/* In the context of GPU memory, and outside of captures of streams into graphs, until buffer_leave.
 * false: there is no such memory. */
struct entered {
    gpu_context context;
    int capture;
};
bool buffer_enter(const void *gpu, struct entered *entered);
bool buffer_enter_context(gpu_context context, struct entered *entered);
void buffer_leave(const struct entered *entered);

#endif
