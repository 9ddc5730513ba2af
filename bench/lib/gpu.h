/* One GPU of this rank. */
#ifndef GPUBIND_BENCH_LIB_GPU_H
#define GPUBIND_BENCH_LIB_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "gpu/core/gpu_calls.h"

/* Zero-initialised: no GPU. */
struct bench_gpu {
    int device;
    gpu_context context;
    bool entered;         /* it is on the thread's context stack */
    gpu_stream stream[2]; /* non-blocking: one for each direction */
    size_t memory;
    char name[96], pci[24];
    int version; /* 13000 is CUDA 13.0; 0: not known */
};

/* Makes the primary context of a device current: of the one that gpubind chose for this rank, or of
 * number `local` modulo the visible ones. On failure gpu is zeroed. */
int gpu_open(struct bench_gpu *gpu, int local, struct gpubind_error *err);
/* The same for the visible GPU of that number. */
int gpu_open_number(struct bench_gpu *gpu, int number, struct gpubind_error *err);
/* Makes the context of this GPU current. */
int gpu_use(const struct bench_gpu *gpu, struct gpubind_error *err);
/* Call once per open. Restores the context that was current before. */
void gpu_close(struct bench_gpu *gpu);

/* On the GPU whose context is current. */
int gpu_alloc(size_t nbytes, void **at, struct gpubind_error *err);
void gpu_free(void *at);
/* Page-locked host memory. */
int gpu_alloc_host(size_t nbytes, void **at, struct gpubind_error *err);
void gpu_free_host(void *at, size_t nbytes);
/* Synchronous copies between host and device. */
int gpu_upload(const struct bench_gpu *gpu, void *to, const void *from, size_t nbytes,
               struct gpubind_error *err);
int gpu_download(const struct bench_gpu *gpu, void *to, const void *from, size_t nbytes,
                 struct gpubind_error *err);
/* "TEXT: error 2 (CUDA_ERROR_OUT_OF_MEMORY)" unless status is GPU_OK. */
int gpu_check(int status, const char *text, struct gpubind_error *err);

static inline gpu_address address_of(const void *at)
{
    return (gpu_address)(uintptr_t)at;
}

#endif
