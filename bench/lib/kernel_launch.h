/* Launches the kernels of kernels.cu, and times them. */
#ifndef GPUBIND_BENCH_LIB_KERNEL_LAUNCH_H
#define GPUBIND_BENCH_LIB_KERNEL_LAUNCH_H

#include <stdint.h>

#include "bench/lib/gpu.h"

/* The fatbin that nvcc made; NULL in a build without nvcc. */
extern const void *const bench_kernel_image;

struct kernels {
    const struct bench_gpu *gpu; /* its context is current, here and below */
    gpu_module module;
    void *count;           /* a word of 64 bits on the GPU */
    int processors, major; /* of the GPU: multiprocessors, compute capability */
};

struct launch {
    const char *name;
    unsigned blocks, threads;
    void **parameters;
};

/* Returns 0, -1, or BENCH_CANNOT if there are no kernels for this GPU. */
int kernels_open(const struct bench_gpu *gpu, struct kernels *kernels, struct gpubind_error *err);
void kernels_close(struct kernels *kernels);
/* Launches n times and waits. *seconds is the time of one launch; may be NULL. */
int kernels_run(const struct kernels *kernels, const struct launch *launch, int n, double *seconds,
                struct gpubind_error *err);
/* Launches for about time_ms, after one warm-up launch. */
int kernels_time(const struct kernels *kernels, const struct launch *launch, int time_ms,
                 double *seconds, struct gpubind_error *err);
/* Writes or compares nbytes of the pattern of seed; *wrong counts differing words of 8 bytes. */
int kernels_fill(const struct kernels *kernels, void *at, size_t nbytes, uint64_t seed,
                 struct gpubind_error *err);
int kernels_compare(const struct kernels *kernels, const void *at, size_t nbytes, uint64_t seed,
                    uint64_t *wrong, struct gpubind_error *err);
/* Sets the word to 0 before launch, and reads it afterwards. */
int kernels_count(const struct kernels *kernels, const struct launch *launch, uint64_t *count,
                  struct gpubind_error *err);

#endif
