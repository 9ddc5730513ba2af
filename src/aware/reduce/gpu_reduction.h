/* Reductions whose target is GPU memory, by the kernel. Any thread may call these. */
#ifndef GPUBIND_AWARE_GPU_REDUCTION_H
#define GPUBIND_AWARE_GPU_REDUCTION_H

#include <stddef.h>

#include "aware/reduce/reductions.h"

struct gpu_reduction {
    struct reduction how;
    /* For pieces of what the kernel cannot read where it lies: host memory, memory of another context, data
     * that is not aligned. NULL: it can. */
    struct gpu_block *room;
};

/* Loads the kernel into the context of GPU memory (NULL: the current one, if any), which waits for its
 * streams: before an application may have work there that waits for more calls. */
void gpu_reduction_prepare(const void *gpu);

/* In a context that can access the target; from is one piece of memory of either kind. false: the kernel is
 * not there, or cannot be loaded now; the target is not aligned; there is no room. On success until
 * gpu_reduction_end. */
bool gpu_reduction_begin(struct gpu_reduction *reduction, const struct reduction *how,
                         gpu_context context, const void *there, const void *from, bool from_gpu,
                         size_t nbytes);
/* Queues there = there op from in the copy stream of the context, which is current. An enum gpu_result. */
int gpu_reduction_queue(const struct gpu_reduction *reduction, gpu_context context,
                        const void *there, const void *from, size_t nbytes);
void gpu_reduction_end(const struct gpu_reduction *reduction);

/* A comparison that swaps, of nbytes in a context that can access them. false: the kernel is not there, or
 * cannot be loaded now, or it has no such element. */
bool gpu_swap_begin(gpu_context context, const void *there, size_t nbytes);
/* Queues it in the copy stream of the context, which is current. block: page-locked memory with what is compared,
 * what replaces it, and room for what was there, nbytes each. An enum gpu_result. */
int gpu_swap_queue(gpu_context context, const void *there, void *block, size_t nbytes);

/* MPI_Reduce_local to GPU memory, of large buffers. false: MPI is to compute it; else *result is an MPI error
 * class, and a sentence on stderr has said more. */
bool gpu_reduction_local(const void *in, void *inout, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         int *result);

#endif
