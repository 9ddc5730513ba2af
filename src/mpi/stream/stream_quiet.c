/* What a stream does when the application calls gpubind_quiet_on_stream. */
#include <mpi.h>

#include "core/base/list.h"
#include "mpi/core/progress_thread.h"
#include "mpi/stream/stream_queue_internal.h"

#define QUIET_WAITS 16 /* messages before a quiet for whose own flags it waits */

/* Of the quiet alone, if there is something that it must wait for by that: *all. */
static int make_common(struct stream_queue *stream, struct stream_wait **all,
                       struct gpubind_error *err)
{
    *all = NULL;
    if (!stream_leaves_open(stream, stream->reached->value + 1))
        return 0;
    *all = stream_wait_make(0, err);
    if (!*all)
        return -1;
    (*all)->before = stream->reached->value + 1;
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
int stream_queue_quiet(struct stream_queue *stream, struct gpubind_error *err)
{
    struct stream_wait *waits[QUIET_WAITS + 1], *all;
    int n, more;

    if (stream_put_laters(stream, err) < 0)
        return MPI_ERR_OTHER;
    n = stream_waits_take(stream, waits, QUIET_WAITS);
    more = make_common(stream, &all, err);
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
