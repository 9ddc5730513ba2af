/* Calls whose work a stream does itself, between flags that it shares with streams of other ranks. */
#include <mpi.h>
#include <stdlib.h>

#include "mpi/base/trace.h"
#include "mpi/core/progress_thread.h"
#include "mpi/stream/stream_queue_internal.h"

#define OPS_MOST 6

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

static struct stream_op number(struct stream_queue *stream, struct entry *entry)
{
    entry->number = ++stream->reached->value;
    return stream_write_op(stream->reached);
}

/* The steps, and the entry behind them. */
static int add_steps(struct stream_queue *stream, struct entry *entry, struct stream_op *ops, int n,
                     const struct stream_steps *steps)
{
    const struct copy *copy = &steps->copy;

    if (steps->wait)
        ops[n++] = (struct stream_op){.kind = STREAM_FLAG,
                                      .flag = {true, steps->wait, steps->wait_value}};
    if (signal_copy_is_good(stream->gpu, copy->nbytes)) {
        const struct stream_op end = number(stream, entry);

        ops[n++] = (struct stream_op){.kind = STREAM_SIGNAL,
                                      .signal = {copy->to,
                                                 copy->from,
                                                 copy->nbytes,
                                                 {steps->set, end.flag.flag},
                                                 {steps->set_value, end.flag.value}}};
        return n;
    }
    ops[n++] = (struct stream_op){.kind = STREAM_COPIES, .copies = copy, .ncopies = 1};
    if (steps->set)
        ops[n++] = (struct stream_op){.kind = STREAM_FLAG,
                                      .flag = {false, steps->set, steps->set_value}};
    ops[n++] = number(stream, entry);
    return n;
}

/* After a failure the stream waits for none of the entries, and all of them fail. */
static int put_in(struct stream_queue *stream, const struct stream_op *ops, int n,
                  const struct entry *entries, int nentries, void *what, struct gpubind_error *err)
{
    const int status = stream_put_in(stream, ops, n, err);

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

int stream_queue_add_planned(struct stream_queue *stream, const struct stream_work_ops *ops,
                             void *what, bool urgent, struct gpubind_error *err)
{
    struct entry entry = {.ops = ops, .wait = stream->planned, .urgent = urgent};
    struct stream_op put[OPS_MOST];
    int n = 0;

    put[n++] = number(stream, &entry);
    if (entry.wait) {
        put[n++] = stream_wait_op(entry.wait->flag);
        stream_wait_count(stream, entry.wait);
    }
    stream->planned = NULL;
    return put_in(stream, put, n, &entry, 1, what, err);
}

int stream_queue_add_steps(struct stream_queue *stream, const struct stream_work_ops *ops,
                           void *what, const struct stream_steps *steps, bool urgent,
                           struct gpubind_error *err)
{
    struct entry entry = {
        .ops = ops, .by_stream = true, .counted = steps->wait != NULL, .urgent = urgent};
    struct stream_op put[OPS_MOST];
    const int n = add_steps(stream, &entry, put, 0, steps);

    stream_queue_unplan(stream);
    if (entry.counted)
        stream_queue_count_waits(stream, 1);
    return put_in(stream, put, n, &entry, 1, what, err);
}

int stream_queue_add_both(struct stream_queue *stream, const struct stream_work_ops *ops,
                          const struct stream_work_ops *after, void *what,
                          const struct stream_steps *steps, struct gpubind_error *err)
{
    struct entry entries[2] = {{.ops = ops, .wait = stream->planned},
                               {.ops = after, .by_stream = true, .behind = true}};
    struct stream_op put[OPS_MOST];
    int n = 0;

    put[n++] = number(stream, &entries[0]);
    put[n++] = stream_wait_op(stream->planned->flag);
    n = add_steps(stream, &entries[1], put, n, steps);
    stream_wait_count(stream, stream->planned);
    stream->planned = NULL;
    return put_in(stream, put, n, entries, 2, what, err);
}

/* ---- at the next quiet */

#define AT_ONCE 64 /* laters */

static int nlaters; /* of all streams, until they are over */

bool stream_queue_has_later(void)
{
    return nlaters < AT_ONCE;
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
        later->steps.wait = NULL;
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

/* The stream waits for all messages, and then copies them. */
static int put_some(struct stream_queue *stream, struct stream_later *const *laters, int n,
                    struct gpubind_error *err)
{
    struct stream_op ops[AT_ONCE + 3];
    struct copy copies[AT_ONCE];
    const struct stream_steps one = {.copy = laters[0]->steps.copy};
    struct entry entry;
    int nops = 0, status;
    uint32_t begin;

    ops[nops++] = number(stream, &entry);
    begin = entry.number;
    for (int i = 0; i < n; i++) {
        const struct stream_steps *steps = &laters[i]->steps;

        copies[i] = steps->copy;
        if (signal_copy_is_good(stream->gpu, steps->copy.nbytes))
            copies[i].ends = COPY_IN_GPU; /* page-locked: a kernel can access both */
        if (laters[i]->ops)
            ops[nops++] = stream_wait_op(laters[i]->wait->flag);
        else if (steps->wait)
            ops[nops++] = (struct stream_op){.kind = STREAM_FLAG,
                                             .flag = {true, steps->wait, steps->wait_value}};
    }
    if (n == 1) {
        nops = add_steps(stream, &entry, ops, nops, &one);
    } else {
        ops[nops++] = (struct stream_op){.kind = STREAM_COPIES, .copies = copies, .ncopies = n};
        ops[nops++] = number(stream, &entry);
    }
    stream_queue_count_waits(stream, 1);
    status = stream_put_in(stream, ops, nops, err);
    add_laters(stream, laters, n, begin, status == 0);
    return status;
}

int stream_put_laters(struct stream_queue *stream, struct gpubind_error *err)
{
    int status = 0;

    while (status == 0 && !QUEUE_EMPTY(&stream->laters)) {
        struct stream_later *laters[AT_ONCE];
        int n = 0;

        do
            laters[n++] = QUEUE_POP(&stream->laters, next);
        while (n < AT_ONCE && !QUEUE_EMPTY(&stream->laters));
        status = put_some(stream, laters, n, err);
    }
    if (status == 0)
        progress_thread_wake();
    return status;
}
