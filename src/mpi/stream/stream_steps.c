/* Calls whose work a stream does itself, between flags that it shares with streams of other ranks. */
#include <mpi.h>
#include <stdlib.h>

#include "mpi/base/trace.h"
#include "mpi/core/progress_thread.h"
#include "mpi/stream/stream_queue_internal.h"

struct gpu *stream_queue_gpu(const struct stream_queue *stream)
{
    return stream->gpu;
}

int stream_queue_plan(struct stream_queue *stream, bool waits, struct stream_gate *gate,
                      struct gpubind_error *err)
{
    const struct stream_flag *reached = stream->reached;

    stream->planned = waits ? stream_wait_make(1, err) : NULL;
    if (waits && !stream->planned)
        return -1;
    *gate = (struct stream_gate){.came = reached->name, .came_value = reached->value + 1};
    if (waits) {
        gate->go = stream->planned->flag->name;
        gate->go_value = stream->planned->flag->value;
    }
    return 0;
}

/* The stream gets to the entry here. */
void stream_queue_unplan(struct stream_queue *stream)
{
    if (stream->planned)
        stream_wait_end(stream, stream->planned);
    stream->planned = NULL;
}

/* The flag that the stream writes when it gets to the entry, or has done it. */
struct signal_flag stream_number(struct stream_queue *stream, struct entry *entry)
{
    entry->number = ++stream->reached->value;
    return (struct signal_flag){stream->reached->at, entry->number};
}

/* After a failure the stream waits for none of the entries, and all of them fail. */
static int put_in(struct stream_queue *stream, const struct stream_ops *ops,
                  const struct entry *entries, int nentries, void *what, struct gpubind_error *err)
{
    const int status = stream_put_in(stream, ops->ops, ops->n, err);

    trace(TRACE_STREAM, "stream %p: call %u is put in%s", (void *)stream->handle,
          entries[nentries - 1].number, status < 0 ? ", which fails" : "");
    if (status < 0 && entries[0].wait)
        stream_wait_fail(stream, entries[0].wait);
    if (status < 0)
        stream_blocks_end(stream, ops->blocks);
    for (int i = 0; i < nentries; i++) {
        struct entry entry = entries[i];

        entry.blocks = i == nentries - 1 && status == 0 ? ops->blocks : 0;
        stream_add_entry(stream, &entry, what, status == 0);
        stream_queues_count(1);
    }
    progress_thread_wake();
    return status < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

struct signal_flag stream_flag_to_await(const struct stream_wait *wait)
{
    return (struct signal_flag){wait->flag->at, wait->flag->value};
}

int stream_queue_add_planned(struct stream_queue *stream, const struct stream_work_ops *ops,
                             void *what, enum stream_wait_mode mode, bool urgent,
                             struct gpubind_error *err)
{
    struct entry entry = {.ops = ops, .wait = stream->planned, .urgent = urgent};
    struct stream_steps wait = {.copy = {.nbytes = 0}};
    struct signal_flag come;
    struct stream_ops put;

    stream_queue_release(stream);
    come = stream_number(stream, &entry);
    if (mode == STREAM_WAIT_NOW) {
        wait.wait = stream_flag_to_await(entry.wait);
        stream_wait_put(stream, entry.wait);
    }
    stream->planned = NULL;
    if (mode == STREAM_WAIT_NOW)
        stream_ops_add_copies(stream, &put, &come, &wait, 1, &stream_no_flag);
    else
        stream_ops_add_flags(&put, &come, &wait, 1, &stream_no_flag);
    return put_in(stream, &put, &entry, 1, what, err);
}

int stream_queue_add_steps(struct stream_queue *stream, const struct stream_work_ops *ops,
                           void *what, const struct stream_steps *steps, bool urgent,
                           struct gpubind_error *err)
{
    struct entry entry = {
        .ops = ops, .by_stream = true, .counted = steps->wait.at != NULL, .urgent = urgent};
    struct signal_flag end;
    struct stream_ops put;

    stream_queue_release(stream);
    end = stream_number(stream, &entry);
    stream_ops_add_copies(stream, &put, &stream_no_flag, steps, 1, &end);
    stream_queue_unplan(stream);
    if (entry.counted)
        stream_queue_count_waits(stream, 1);
    return put_in(stream, &put, &entry, 1, what, err);
}

int stream_queue_add_both(struct stream_queue *stream, const struct stream_work_ops *ops,
                          const struct stream_work_ops *after, void *what,
                          const struct stream_steps *steps, struct gpubind_error *err)
{
    struct entry entries[2] = {{.ops = ops, .wait = stream->planned},
                               {.ops = after, .by_stream = true, .behind = true}};
    struct stream_steps all = *steps;
    struct signal_flag come, end;
    struct stream_ops put;

    stream_queue_release(stream);
    come = stream_number(stream, &entries[0]);
    end = stream_number(stream, &entries[1]);
    all.wait = stream_flag_to_await(stream->planned);
    stream_ops_add_copies(stream, &put, &come, &all, 1, &end);
    stream_wait_put(stream, stream->planned);
    stream->planned = NULL;
    return put_in(stream, &put, entries, 2, what, err);
}
