/* Pairs, put together as an exchange. */
#include <stdlib.h>

#include "gpu/core/deferred_free.h"
#include "mpi/core/context.h"
#include "mpi/persistent/exchange_streams.h"

/* An exchange while it is put together. */
struct batch {
    struct exchange_send *sends;
    struct exchange_receive *receives;
    int nsends, nreceives, room;
};

static struct batch spare; /* its memory is kept */

static void clear(struct batch *batch)
{
    free(batch->sends);
    free(batch->receives);
    *batch = (struct batch){0};
}

/* Whoever has it may let go of the lock. */
static struct batch take_spare(void)
{
    struct batch batch = spare;

    spare = (struct batch){0};
    batch.nsends = batch.nreceives = 0;
    return batch;
}

static void give_back(struct batch *batch)
{
    if (batch->room > spare.room) {
        const struct batch smaller = spare;

        spare = *batch;
        *batch = smaller;
    }
    clear(batch);
}

static int make_room(struct batch *batch, const struct pair *pairs, struct gpubind_error *err)
{
    int n = 0;

    for (; pairs; pairs = pairs->follows)
        n++;
    if (n > batch->room) {
        clear(batch);
        batch->sends = calloc((size_t)n, sizeof *batch->sends);
        batch->receives = calloc((size_t)n, sizeof *batch->receives);
        batch->room = batch->sends && batch->receives ? n : 0;
    }
    return n <= batch->room ? 0 : error_set(err, "out of memory");
}

static void fill(struct batch *batch, const struct pair *pairs, bool ready)
{
    for (; pairs; pairs = pairs->follows)
        if (pair_sends(pairs)) {
            batch->sends[batch->nsends++] = pairs->exchange.send;
        } else {
            batch->receives[batch->nreceives] = pairs->exchange.receive;
            batch->receives[batch->nreceives++].sure |= ready;
        }
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

static int start(struct gpu *gpu, struct CUstream_st *stream, const struct batch *batch,
                 struct gpubind_error *err)
{
    return exchange_start(gpu, stream, batch->sends, batch->nsends, batch->receives,
                          batch->nreceives, err);
}

/* Without the lock. */
static int start_beside(struct gpu *gpu, struct CUstream_st *stream, bool capturing,
                        const struct batch *batch, struct gpubind_error *err)
{
    struct hold *hold = capturing ? NULL : hold_begin(gpu, stream);
    int status;

    library_unlock();
    status = start(gpu, stream, batch, err);
    if (hold)
        hold_record(hold);
    library_lock();
    if (hold)
        hold_end(hold);
    return status;
}

int tracks_queue(struct gpu *gpu, struct CUstream_st *stream, struct pair *pairs, bool ready,
                 struct gpubind_error *err)
{
    struct batch batch = take_spare();
    int status = make_room(&batch, pairs, err);

    if (status == 0) {
        fill(&batch, pairs, ready);
        status = start(gpu, stream, &batch, err);
    }
    if (status == 0)
        asked_once(pairs);
    give_back(&batch);
    return status;
}

int tracks_queue_beside(struct gpu *gpu, struct CUstream_st *stream, bool capturing,
                        struct pair *pairs, struct gpubind_error *err)
{
    struct batch batch = take_spare();
    int status = make_room(&batch, pairs, err);

    if (status == 0) {
        fill(&batch, pairs, false);
        status = start_beside(gpu, stream, capturing, &batch, err);
    }
    if (status == 0)
        asked_once(pairs);
    give_back(&batch);
    return status;
}

void tracks_queue_stop(void)
{
    clear(&spare);
}
