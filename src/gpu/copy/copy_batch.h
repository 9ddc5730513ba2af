/* Copies in a GPU's stream, many at once where the driver or a kernel can. */
#ifndef GPUBIND_GPU_COPY_COPY_BATCH_H
#define GPUBIND_GPU_COPY_COPY_BATCH_H

#include "gpu/core/gpu_context.h"

#define COPIES_MOST 64 /* in one start */

/* Said by the caller: of memory that a stream will free, after a call of cuMemFreeAsync, the
 * driver knows nothing any more. */
enum copy_ends {
    COPY_IN_GPU,    /* both ends are GPU memory that a kernel can access */
    COPY_TO_HOST,   /* from such memory */
    COPY_FROM_HOST, /* to such memory */
    COPY_BY_DRIVER, /* others, as two GPUs of one process */
};

struct copy {
    gpu_address to, from;
    size_t nbytes;
    enum copy_ends ends;
};

struct gpu_completion { /* of copies under way */
    struct gpu *gpu;    /* NULL: nothing to test */
    gpu_event event;    /* an event, or where it is NULL */
    uint32_t ticket;    /* a command of the copy agent; 0: nothing was under way */
};

/* Sets the number of blocks of the copy kernel: the SMs that it takes from the application. 0: no
 * kernels are used at all. */
void copies_set_blocks(int n);

/* Starts n (0 to COPIES_MOST) copies in that stream, in any order among themselves. The
 * completion covers them and all that was in the stream before. On success the caller calls
 * gpu_completion_test until it does not return 0. */
int copies_start(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copies, int n,
                 struct gpu_completion *completion, struct gpubind_error *err);
/* 1: complete; 0: not yet; -1: one failed. Unless 0, the completion is released. */
int gpu_completion_test(struct gpu_completion *completion, struct gpubind_error *err);
/* The completion of all earlier work in the context's legacy stream, and so in its blocking
 * streams: a copy that starts after it is ordered like a cudaMemcpy. No stream of the library waits
 * meanwhile. 1: there is no such work, and nothing to test; 0: it is under way; -1 with a
 * sentence. */
int gpu_completion_of_earlier(struct gpu *gpu, struct gpu_completion *completion,
                              struct gpubind_error *err);
/* Later work in the stream waits for it; the completion is released. 0, or -1 with a sentence; -1
 * and err unchanged where there is nothing to test. */
int gpu_completion_precede(struct gpu_completion *completion, enum gpu_own_stream stream,
                           struct gpubind_error *err);
/* Releases it, if there is one, without a test. */
void gpu_completion_drop(struct gpu_completion *completion);
/* Starts them for a caller that waits for the stream later, by copies_wait or gpu_completion_test.
 * 0, or -1 with a sentence: some may have been started. */
int copies_queue(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copies, int n,
                 struct gpubind_error *err);
/* Puts n copies into a stream of the GPU's context, which is current. What the driver returns. */
int copies_put(struct gpu *gpu, gpu_stream stream, const struct copy *copies, int n);
/* Waits for all that is in the stream. -1: something of it failed. */
int copies_wait(struct gpu *gpu, enum gpu_own_stream stream, struct gpubind_error *err);
/* Starts one copy and waits for it, and for all before it in the stream. */
int copy_now(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copy,
             struct gpubind_error *err);

#endif
