/* Reductions of GPU memory by a kernel, in any context. They need no struct gpu; any thread may call these. */
#ifndef GPUBIND_GPU_REDUCE_REDUCE_H
#define GPUBIND_GPU_REDUCE_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/core/gpu_types.h"
#include "gpu/reduce/reduce_kernel.h"

struct reduction {
    enum reduce_type type;
    enum reduce_op op;
    bool from_first; /* see reduce_kernel_job */
};

/* Bytes of an element, and how its address is aligned. */
unsigned reduce_bytes(enum reduce_type type);
unsigned reduce_alignment(enum reduce_type type);

/* The kernel can be launched in the context, which is current. It is loaded where it is not, in that stream,
 * which waits for all streams of the context: only if the legacy stream and blocking ones have no work. false:
 * not now, or there is none for this GPU. */
bool reduce_is_loaded(gpu_context context, gpu_stream stream);
/* Queues there = there op from for n elements in a stream of that context, which is current, and for which
 * reduce_is_loaded was true. Both addresses are aligned, and memory that the context's kernels can access. An
 * enum gpu_result.
 * With REDUCE_SWAP, of one unsigned integer, from is written, too: see reduce_kernel_job. */
int reduce_launch(gpu_context context, gpu_stream stream, const struct reduction *reduction,
                  gpu_address there, gpu_address from, uint64_t n);

/* For the kernel, and who does the same. */
void reduce_job(struct reduce_kernel_job *job, const struct reduction *reduction, uint64_t there,
                uint64_t from, uint64_t n);

#endif
