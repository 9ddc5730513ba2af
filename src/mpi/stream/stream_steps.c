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

static const struct signal_flag no_flag;

/* The flag that the stream writes when it gets to the entry, or has done it. */
static struct signal_flag number(struct stream_queue *stream, struct entry *entry)
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
    for (int i = 0; i < nentries; i++) {
        stream_add_entry(stream, &entries[i], what, status == 0);
        stream_queues_count(1);
    }
    progress_thread_wake();
    return status < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static struct signal_flag flag_of(const struct stream_wait *wait)
{
    return (struct signal_flag){wait->flag->at, wait->flag->value};
}

int stream_queue_add_planned(struct stream_queue *stream, const struct stream_work_ops *ops,
                             void *what, bool urgent, struct gpubind_error *err)
{
    struct entry entry = {.ops = ops, .wait = stream->planned, .urgent = urgent};
    const struct signal_flag come = number(stream, &entry);
    struct stream_steps wait = {.copy = {.nbytes = 0}};
    struct stream_ops put;

    if (entry.wait) {
        wait.wait = flag_of(entry.wait);
        stream_wait_count(stream, entry.wait);
    }
    stream->planned = NULL;
    /* What the thread moves may take long: no kernel waits for that. */
    if (urgent || !entry.wait)
        stream_ops_add_flags(&put, &come, &wait, 1, &no_flag);
    else
        stream_ops_add_copies(stream, &put, &come, &wait, 1, &no_flag);
    return put_in(stream, &put, &entry, 1, what, err);
}

int stream_queue_add_steps(struct stream_queue *stream, const struct stream_work_ops *ops,
                           void *what, const struct stream_steps *steps, bool urgent,
                           struct gpubind_error *err)
{
    struct entry entry = {
        .ops = ops, .by_stream = true, .counted = steps->wait.at != NULL, .urgent = urgent};
    const struct signal_flag end = number(stream, &entry);
    struct stream_ops put;

    stream_ops_add_copies(stream, &put, &no_flag, steps, 1, &end);
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
    const struct signal_flag come = number(stream, &entries[0]), end = number(stream, &entries[1]);
    struct stream_steps all = *steps;
    struct stream_ops put;

    all.wait = flag_of(stream->planned);
    stream_ops_add_copies(stream, &put, &come, &all, 1, &end);
    stream_wait_count(stream, stream->planned);
    stream->planned = NULL;
    return put_in(stream, &put, entries, 2, what, err);
}

/* ---- at the next quiet */

static int nlaters; /* of all streams, until they are over */

bool stream_queue_has_later(void)
{
    return nlaters < STREAM_AT_ONCE;
}

void stream_later_end(void)
{
    nlaters--;
}

int stream_queue_add_later(struct stream_queue *stream, const struct stream_work_ops *ops,
                           const struct stream_work_ops *after, void *what,
                           const struct stream_steps *steps)
{
    struct stream_later *later = malloc(sizeof *later);

    if (!later) /* a message that was matched cannot be given back */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *later = (struct stream_later){
        .ops = ops, .after = after, .what = what, .wait = stream->planned, .steps = *steps};
    if (ops) {
        later->steps.wait = flag_of(later->wait);
        stream->planned = NULL;
    } else {
        later->wait = NULL;
        stream_queue_unplan(stream);
    }
    nlaters++;
    QUEUE_PUSH(&stream->laters, later, next);
    stream_queues_count(1);
    return MPI_SUCCESS;
}

/* The entries of laters that were put in, or (not good) were not. They count as one call, and as one wait, until
 * the last is over. */
static void add_laters(struct stream_queue *stream, struct stream_later *const *laters, int n,
                       uint32_t begin, bool good)
{
    for (int i = 0; i < n; i++) {
        const struct entry come = {
            .ops = laters[i]->ops, .number = begin, .wait = laters[i]->wait, .behind = true};

        if (!come.ops)
            continue;
        if (!good)
            stream_wait_fail(stream, come.wait);
        stream_add_entry(stream, &come, laters[i]->what, good);
        stream_queues_count(1);
    }
    for (int i = 0; i < n; i++) {
        const bool last = i == n - 1;
        const struct entry after = {.ops = laters[i]->after,
                                    .number = stream->reached->value,
                                    .by_stream = true,
                                    .counted = last,
                                    .behind = !last,
                                    .later = true};

        stream_add_entry(stream, &after, laters[i]->what, good);
        free(laters[i]);
    }
}

static int put_some(struct stream_queue *stream, struct stream_later *const *laters, int n,
                    struct gpubind_error *err)
{
    struct stream_steps steps[STREAM_AT_ONCE];
    struct entry entry;
    const struct signal_flag begin = number(stream, &entry), end = number(stream, &entry);
    struct stream_ops put;
    int status;

    for (int i = 0; i < n; i++)
        steps[i] = laters[i]->steps;
    stream_ops_add_copies(stream, &put, &begin, steps, n, &end);
    stream_queue_count_waits(stream, 1);
    status = stream_put_in(stream, put.ops, put.n, err);
    add_laters(stream, laters, n, begin.value, status == 0);
    return status;
}

int stream_put_laters(struct stream_queue *stream, struct gpubind_error *err)
{
    int status = 0;

    while (status == 0 && !QUEUE_EMPTY(&stream->laters)) {
        struct stream_later *laters[STREAM_AT_ONCE];
        int n = 0;

        do
            laters[n++] = QUEUE_POP(&stream->laters, next);
        while (n < STREAM_AT_ONCE && !QUEUE_EMPTY(&stream->laters));
        status = put_some(stream, laters, n, err);
    }
    if (status == 0)
        progress_thread_wake();
    return status;
}
