/* Copies in a GPU's stream, many at once where the driver or a kernel can. */
#ifndef GPUBIND_GPU_COPY_COPY_BATCH_H
#define GPUBIND_GPU_COPY_COPY_BATCH_H

#include "gpu/core/gpu_context.h"

#define COPIES_MOST 64 /* in one start */

struct copy {
    gpu_address to, from; /* any memory that the GPU's context can address */
    size_t nbytes;
    bool device; /* both ends are GPU memory, so that a kernel may do it */
};

struct flight {      /* copies under way */
    struct gpu *gpu; /* NULL: none */
    gpu_event event; /* or, when it is NULL, */
    uint32_t ticket; /* a command of the copy agent; 0: nothing was under way */
};

/* Blocks of the copy kernel: the SMs that it takes from the application; 0: none, and no
 * other kernel either. */
void copies_set_blocks(int n);

/* Starts n (0 to COPIES_MOST) copies in that stream, in any order among themselves. The
 * flight is theirs and of all that was in the stream before. On success the caller asks
 * flight_landed until it does not say 0. */
int copies_start(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copies, int n,
                 struct flight *flight, struct gpubind_error *err);
/* 1: landed; 0: not yet; -1: one failed. The flight is over unless 0. */
int flight_landed(struct flight *flight, struct gpubind_error *err);
/* The flight of all earlier work in the context's legacy stream, and so in its blocking
 * streams: a copy that begins when it has landed is in order as a cudaMemcpy is. No stream
 * of the library's waits meanwhile. 1: there is no such work, and no flight; 0: it is under
 * way; -1 with a sentence. */
int flight_of_earlier(struct gpu *gpu, struct flight *flight, struct gpubind_error *err);
/* Later work in the stream comes after it; the flight is over. 0, or -1 with a sentence; -1
 * and err as it is where there is no flight. */
int flight_precede(struct flight *flight, enum gpu_own_stream stream, struct gpubind_error *err);
/* Nobody asks any more whether it has landed, if it is one. */
void flight_drop(struct flight *flight);
/* Starts them for a caller that waits for the stream later, by copies_wait or a flight.
 * 0, or -1 with a sentence: some may have been started. */
int copies_queue(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copies, int n,
                 struct gpubind_error *err);
/* Waits for all that is in the stream. -1: something of it failed. */
int copies_wait(struct gpu *gpu, enum gpu_own_stream stream, struct gpubind_error *err);
/* Starts one copy and waits for it, and for all before it in the stream. */
int copy_now(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copy,
             struct gpubind_error *err);

#endif
