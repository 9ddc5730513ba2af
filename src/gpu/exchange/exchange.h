/* Messages between GPUs without the CPU: the streams of both sides copy and synchronize by GPU
 * sync flags, which lie in GPU memory.
 *
 * A channel (a send and its receive) has `parts` flags on either side (see exchange_flag.h), all
 * 0 at first:
 *
 *   ready[p], in memory of the sender's GPU:   the receiver sets it to 1, the buffer is free
 *   done[p],  in memory of the receiver's GPU: the sender sets it to 1, the data are there
 *
 * The receive sets ready to 1, waits until done is 1 and sets that to 0; the send waits
 * until ready is 1, sets that to 0, copies, and sets done to 1. There is no
 * counter, so that the same work can be captured once and replayed. With no_handshake
 * `ready` is not used: the caller guarantees that the buffer is free and the last message taken. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_H

#include "gpu/copy/strided_copy.h"
#include "gpu/exchange/exchange_flag.h"

struct exchange_send {
    struct strided_buffer from, to; /* to: a buffer of the receiver's, as mapped here */
    uint64_t nbytes;                /* at most what either layout has; their first bytes */
    gpu_address ready, done;        /* as mapped here */
    unsigned parts;
    bool no_handshake;
};

struct exchange_receive {
    gpu_address ready, done; /* as mapped here */
    unsigned parts;
    bool no_handshake;
};

/* Flags of a channel for nbytes, when both sides have the kernel; else 1. */
unsigned exchange_parts(uint64_t nbytes);
/* The kernel is there: parts may be more than 1. */
bool exchange_has_kernel(struct gpu *gpu);
/* Blocks of its launch, where that may have any number: for that many parts of sends, and receives. */
unsigned exchange_blocks(const struct gpu *gpu, unsigned parts, unsigned nreceives);
/* Queues all of it in the stream: first every receive says that it is ready, then the sends, then
 * the receives wait, so that two sides that start in any order end. In a stream that is being
 * captured too. By launches of at most `blocks` blocks, if by a kernel. 0, or -1 with a sentence: nothing or a part
 * of it is queued. */
int exchange_start(struct gpu *gpu, gpu_stream stream, const struct exchange_send *sends,
                   int nsends, const struct exchange_receive *receives, int nreceives,
                   unsigned blocks, struct gpubind_error *err);

#endif
