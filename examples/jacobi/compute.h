/* Who does the arithmetic: kernels of the GPU, or, where there are none, the host in
 * copies of the rows. Either is queued in a stream, and done in its order. */
#ifndef JACOBI_COMPUTE_H
#define JACOBI_COMPUTE_H

#include "gpu.h"
#include "strip.h"

enum { STREAMS = 4, CHANGES = 4 };

/* Rows first, first + stride, ... of the strip: count of them. */
struct rows {
    int first, stride, count;
};

struct compute {
    const char *name;
    /* false: it cannot be done here, *why says why. march: rows that a warp of the kernel
     * goes down, 0: chosen. */
    bool (*start)(const struct strip *strip, int march, const char **why);
    /* A step of these rows, from array `from` into the other, in streams[stream]. The sum
     * of the squared changes is added to the one that `change` numbers, unless it is -1. */
    void (*rows)(int from, struct rows rows, int change, int stream, gpu_stream in);
    /* Moves that sum to where `changed` finds it, and makes it 0 again. */
    void (*collect)(int change, gpu_stream in);
    double (*changed)(int change); /* after the stream came to the end of collect */
    void (*end)(void);
};

extern const struct compute compute_gpu, compute_host;

#endif
