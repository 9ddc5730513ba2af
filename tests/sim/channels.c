/* The channels through which the work of streams gets to the GPU: each is read in order, and what waits there keeps back
 * all that comes behind it, of other streams, too. Measured on an H200, driver 580: a stream that waits for a word, or
 * that has work behind a kernel that waits, occupies a channel; a kernel that waits as the last of its stream does not,
 * nor with an event behind it. A process has 8 of them for kernels and copies in the GPU (here as many as streams), with
 * MPS 2, or CUDA_DEVICE_MAX_CONNECTIONS; where all are occupied, no other stream goes on. (Copies from and to the host
 * have others; here they are kept back, too.) */
#include "tests/sim/sim.h"

static bool one_channel; /* of the streams of the greatest priority and the legacy one */
static uint64_t most;    /* channels of a context; 0: enough */

void channels_load(void)
{
    one_channel = sim_number("GPUBIND_SIM_CHANNEL", 0, 1);
    most = sim_number("CUDA_DEVICE_MAX_CONNECTIONS", sim_number("GPUBIND_SIM_MPS", 0, 1) ? 2 : 0,
                      32);
}

/* The stream's last work of which a channel waits for the end: all before its last but events, and that, too, unless it
 * is a kernel. */
static uint64_t last_awaited(const struct CUstream_st *stream)
{
    uint64_t ticket = 0;

    for (const struct operation *op = stream->head; op; op = op->next)
        if (!op->event)
            ticket = op->ticket - (op->blocks > 0);
    return ticket;
}

void channel_need(struct operation *op, const struct CUstream_st *stream)
{
    if (!one_channel || !stream->legacy)
        return;
    for (struct CUstream_st *s = stream_first(); s; s = s->next)
        if (s->first && s->context == stream->context)
            operation_need(op, s, last_awaited(s));
}

static bool occupies_channel(const struct CUstream_st *stream)
{
    return stream->stuck && stream->head && last_awaited(stream) >= stream->head->ticket;
}

bool channel_is_free(const struct CUstream_st *stream)
{
    uint64_t occupied = 0;

    if (most == 0 || occupies_channel(stream))
        return true;
    for (const struct CUstream_st *s = stream_first(); s; s = s->next)
        occupied += s->context == stream->context && occupies_channel(s);
    return occupied < most;
}
