/* Copies in a GPU's stream, many at once where the driver or a kernel can. */
#ifndef GPUBIND_CUDA_COPIES_H
#define GPUBIND_CUDA_COPIES_H

#include "cuda/gpu.h"

#define COPIES_MOST 64 /* in one start */

struct copy {
    cuda_address to, from; /* any memory that the GPU's context can address */
    size_t nbytes;
    bool device; /* both ends are GPU memory, so that a kernel may do it */
};

struct flight { /* copies under way */
    struct gpu *gpu; /* NULL: none */
    struct CUevent_st *event;
};

/* Blocks of the copy kernel: the SMs that it takes from the application; 0: none, and no
 * other kernel either. */
void copies_set_blocks(int n);

/* Loads what copies will need, so that none has to when streams are held (gpu_hold). */
void copies_prepare(struct gpu *gpu);
/* Starts n (0 to COPIES_MOST) copies in that stream, in any order among themselves. The
 * flight is theirs and of all that was in the stream before. On success the caller asks
 * flight_landed until it does not say 0. */
int copies_start(struct gpu *gpu, enum gpu_stream stream, const struct copy *copies, int n,
                 struct flight *flight, struct gpubind_error *err);
/* 1: landed; 0: not yet; -1: one failed. The flight is over unless 0. */
int flight_landed(struct flight *flight, struct gpubind_error *err);
/* Starts them for a caller that waits for the stream later, by copies_wait or a flight.
 * 0, or -1 with a sentence: some may have been started. */
int copies_queue(struct gpu *gpu, enum gpu_stream stream, const struct copy *copies, int n,
                 struct gpubind_error *err);
/* Waits for all that is in the stream. -1: something of it failed. */
int copies_wait(struct gpu *gpu, enum gpu_stream stream, struct gpubind_error *err);
/* Starts one copy and waits for it, and for all before it in the stream. */
int copy_now(struct gpu *gpu, enum gpu_stream stream, const struct copy *copy,
             struct gpubind_error *err);
/* Gives back the events that are kept for flights. */
void copies_stop(void);

#endif
