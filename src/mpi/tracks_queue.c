/* Pairs, put together as an exchange. */
#include <stdlib.h>

#include "mpi/tracks.h"

static struct { /* an exchange while it is put together */
    struct exchange_send *sends;
    struct exchange_receive *receives;
    int nsends, nreceives, room;
} batch;

static int make_room(const struct pair *pairs, struct gpubind_error *err)
{
    int n = 0;

    for (; pairs; pairs = pairs->follows)
        n++;
    if (n > batch.room) {
        free(batch.sends);
        free(batch.receives);
        batch.sends = calloc((size_t)n, sizeof *batch.sends);
        batch.receives = calloc((size_t)n, sizeof *batch.receives);
        batch.room = batch.sends && batch.receives ? n : 0;
    }
    batch.nsends = batch.nreceives = 0;
    return n <= batch.room ? 0 : error_set(err, "out of memory");
}

/* The first time a sure pair asks too: what its user did to the buffer before is no part
 * of what makes it sure. */
static void asked_once(struct pair *pairs)
{
    for (struct pair *pair = pairs; pair; pair = pair->follows)
        if (pair_sends(pair))
            pair->exchange.send.sure = pair->sure;
        else
            pair->exchange.receive.sure = pair->sure;
}

int tracks_queue(struct gpu *gpu, struct CUstream_st *stream, struct pair *pairs, bool ready,
                 struct gpubind_error *err)
{
    if (make_room(pairs, err) < 0)
        return -1;
    for (const struct pair *pair = pairs; pair; pair = pair->follows)
        if (pair_sends(pair)) {
            batch.sends[batch.nsends++] = pair->exchange.send;
        } else {
            batch.receives[batch.nreceives] = pair->exchange.receive;
            batch.receives[batch.nreceives++].sure |= ready;
        }
    if (exchange_start(gpu, stream, batch.sends, batch.nsends, batch.receives, batch.nreceives,
                       err) < 0)
        return -1;
    asked_once(pairs);
    return 0;
}

void tracks_queue_stop(void)
{
    free(batch.sends);
    free(batch.receives);
    batch.sends = NULL;
    batch.receives = NULL;
    batch.room = 0;
}
