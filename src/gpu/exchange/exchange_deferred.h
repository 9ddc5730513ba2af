/* An exchange (exchange.h) whose messages lie in GPU memory: it can have more of them, and be queued before they are
 * known, as a graph is captured before the other side has captured its part. Its kernel waits for the messages, and does
 * them again in each launch of the graph. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_DEFERRED_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_DEFERRED_H

#include "gpu/exchange/exchange.h"
#include "gpu/exchange/exchange_kernel.h"
#include "gpu/exchange/gpu_flags.h"

struct exchange_deferred {
    struct gpu *gpu;
    gpu_address at;          /* of the job */
    struct gpu_flags memory; /* that it lies in, if it has its own */
    int nsends, nreceives;   /* at most DEFERRED_MESSAGES each */
    unsigned blocks;
    bool traps; /* where flags are broken; else it goes on without the message */
    struct kernel_send *sends;
    struct kernel_receive *receives;
    struct kernel_copy *takes;
    struct kernel_levels *strided;
    gpu_address *presets; /* flags */
    unsigned nstrided, npresets;
    struct deferred_kernel_job *posted; /* page-locked; NULL: the caller's memory */
};

/* Bytes of a job of as many messages as there can be. */
size_t exchange_deferred_most(void);
/* For so many messages; nbytes: of each send; by at most so many blocks. at: GPU memory of exchange_deferred_most bytes
 * for the job, 0: its own. 0, or -1 with a sentence. */
int exchange_deferred_make(struct exchange_deferred *deferred, struct gpu *gpu, int nsends,
                           const uint64_t *nbytes, int nreceives, unsigned blocks, gpu_address at,
                           struct gpubind_error *err);
/* Queues it in a stream of the GPU's context, which need not be current. 0, or -1 with a sentence. */
int exchange_deferred_queue(struct exchange_deferred *deferred, gpu_stream stream,
                            struct gpubind_error *err);
/* What message i of either kind is; preset: its flag `ready` is to be 1 at first. false: no kernel can copy it. */
bool exchange_deferred_send(struct exchange_deferred *deferred, int i,
                            const struct exchange_send *send, bool preset);
/* A receive by its buffer, or (from not NULL) by memory that its sender writes to whose flag `ready` it has, 1 at
 * first; from there the nbytes are copied to the buffer. */
bool exchange_deferred_receive(struct exchange_deferred *deferred, int i,
                               const struct exchange_receive *receive,
                               const struct strided_buffer *from, const struct strided_buffer *to,
                               uint64_t nbytes);
/* All messages are known: the job with an open gate, as it is to lie `at` before a launch. Returns its bytes. */
size_t exchange_deferred_write(const struct exchange_deferred *deferred, void *job);
/* Copies it from page-locked memory, in the stream that is to do it then. 0, or -1 with a sentence. */
int exchange_deferred_copy(const struct exchange_deferred *deferred, const void *job, size_t nbytes,
                           gpu_stream stream, struct gpubind_error *err);
/* The same for one with memory of its own, also behind a launch: launches go on. Calls nothing of the driver. */
void exchange_deferred_open(const struct exchange_deferred *deferred);
/* The messages cannot be passed: launches end with an error of the stream; or (over) do nothing. Calls nothing of the
 * driver before it is open. */
void exchange_deferred_break(const struct exchange_deferred *deferred, bool over);
/* No launch is under way, nor comes any more. */
void exchange_deferred_free(struct exchange_deferred *deferred);

#endif
