/* Kernels that contexts get when they are first wanted, without a struct gpu. Any thread may call these. */
#ifndef GPUBIND_GPU_CORE_CONTEXT_KERNELS_H
#define GPUBIND_GPU_CORE_CONTEXT_KERNELS_H

#include "gpu/core/kernels.h"

struct context_kernel {
    gpu_function function;
    unsigned multiprocessors; /* of its GPU */
};

/* Loading waits for all streams of the context, which may wait for a message. */
enum kernel_wait {
    KERNEL_AFTER_LEGACY, /* it is put off until a call finds no work in the legacy stream and blocking ones */
    KERNEL_AFTER_ALL /* the first call that finds no blocking stream captured waits for all streams' work for some
                      * 30 ms, and loads it or never does. Drivers before CUDA 12.5 cannot be asked for that. Where
                      * a nonblocking stream is being captured, asking invalidates the capture: hence once, and
                      * early. */
};

/* Of the context, which is current; for good. It is loaded in that stream. NULL: not now, or there is none for
 * this GPU. */
const struct context_kernel *context_kernel(gpu_context context, const struct kernel_entry *entry,
                                            enum kernel_wait wait, gpu_stream stream);
/* The same of one that was loaded; makes no call that waits. */
const struct context_kernel *context_kernel_loaded(gpu_context context, const char *name);

#endif
