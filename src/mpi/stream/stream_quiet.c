/* How a stream waits for nonblocking messages: at gpubind_quiet_on_stream, and at the end of a pair. */
#include <mpi.h>

#include "core/base/list.h"
#include "gpu/exchange/gpu_slots.h"
#include "mpi/core/progress_thread.h"
#include "mpi/stream/stream_queue_internal.h"

#define QUIET_WAITS 16 /* messages for whose own flags it waits */

/* Of the quiet alone, if there is something that it must wait for by that: *all. */
static int make_common(struct stream_queue *stream, struct call_range calls,
                       struct stream_wait **all, struct gpubind_error *err)
{
    *all = NULL;
    if (!stream_leaves_open(stream, calls))
        return 0;
    *all = stream_wait_make(0, err);
    if (!*all)
        return -1;
    (*all)->entries = calls;
    stream_wait_put(stream, *all);
    return 1;
}

static int put_waits(struct stream_queue *stream, struct stream_wait *const *waits, int n,
                     struct gpubind_error *err)
{
    struct stream_steps steps[QUIET_WAITS + 1] = {{.copy = {.nbytes = 0}}};
    struct stream_ops put;

    for (int i = 0; i < n; i++)
        steps[i].wait = stream_flag_to_await(waits[i]);
    stream_ops_add_copies(stream, &put, &stream_no_flag, steps, n, &stream_no_flag);
    return stream_put_in(stream, put.ops, put.n, err);
}

/* The stream waits for flags that other ranks set, too: no thread of this one is on the way then. For what has none,
 * and for what is too much, there is one that this rank's thread sets when all of it is over. */
static int wait_for(struct stream_queue *stream, uint32_t first, struct gpubind_error *err)
{
    const struct call_range calls = {first, stream->reached->value + 1};
    struct stream_wait *waits[QUIET_WAITS + 1], *all;
    const int n = stream_waits_take(stream, calls, waits, QUIET_WAITS);
    const int more = make_common(stream, calls, &all, err);

    if (more > 0)
        waits[n] = all;
    if (more < 0 || (n + more > 0 && put_waits(stream, waits, n + more, err) < 0)) {
        stream_waits_leave(stream);
        if (all)
            stream_wait_end(stream, all);
        return MPI_ERR_OTHER;
    }
    if (all) {
        stream_queues_count(1);
        stream_count_urgent(1);
        QUEUE_PUSH(&stream->quiets, all, next);
        progress_thread_wake();
    }
    return MPI_SUCCESS;
}

int stream_queue_quiet(struct stream_queue *stream, struct gpubind_error *err)
{
    if (stream_put_laters(stream, err) < 0)
        return MPI_ERR_OTHER;
    return wait_for(stream, stream->reached->value - INT32_MAX / 2, err); /* all of them */
}

/* ---- pairs */

void stream_queue_begin_pair(struct stream_queue *stream)
{
    stream_queue_release(stream);
    stream->pair.laters = stream->laters;
    stream->pair.holds = stream->holds;
    stream->pair.first = stream->reached->value + 1;
    stream->laters = (struct stream_laters){NULL, NULL};
    stream_queue_group(stream, GPU_SLOT_LARGEST);
}

int stream_queue_end_pair(struct stream_queue *stream, struct gpubind_error *err)
{
    const int status = stream_put_laters(stream, err);

    stream->laters = stream->pair.laters;
    stream->holds = stream->pair.holds;
    return status < 0 ? MPI_ERR_OTHER : wait_for(stream, stream->pair.first, err);
}
