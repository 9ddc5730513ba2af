/* Nonblocking messages that the next quiet puts into the stream, all of them at once. */
#include <mpi.h>
#include <stdlib.h>

#include "core/base/list.h"
#include "mpi/core/progress_thread.h"
#include "mpi/stream/stream_queue_internal.h"

/* Where one launch waits for STREAM_AT_ONCE of them; else each is a wait of the driver's, which has room for few. */
#define LATERS_MAX 256

static int nlaters; /* receives of all streams, until they are over */

bool stream_queue_has_later(struct stream_queue *stream)
{
    const int most = stream->spins ? LATERS_MAX : STREAM_AT_ONCE;

    if (nlaters >= most)
        stream_settle_first(stream);
    return nlaters < most;
}

void stream_later_end(void)
{
    nlaters--;
}

static struct stream_later *make_later(const struct stream_work_ops *ops,
                                       const struct stream_work_ops *after, void *what,
                                       const struct stream_steps *steps)
{
    struct stream_later *later = malloc(sizeof *later);

    if (!later) /* a message that was matched cannot be given back */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *later = (struct stream_later){.ops = ops, .after = after, .what = what, .steps = *steps};
    stream_queues_count(1);
    return later;
}

int stream_queue_add_later(struct stream_queue *stream, const struct stream_work_ops *ops,
                           const struct stream_work_ops *after, void *what,
                           const struct stream_steps *steps)
{
    struct stream_later *later = make_later(ops, after, what, steps);

    if (ops) {
        later->wait = stream->planned;
        later->steps.wait = stream_flag_to_await(later->wait);
        stream->planned = NULL;
    } else {
        stream_queue_unplan(stream);
    }
    QUEUE_PUSH(&stream->laters, later, next);
    nlaters++;
    return MPI_SUCCESS;
}

/* ---- groups */

void stream_queue_group(struct stream_queue *stream, uint64_t nbytes)
{
    stream->holds = nbytes;
}

/* Each takes two numbers, so that the first of a launch is free for its begin; what could not be held has a number behind
 * those that are. */
uint32_t stream_queue_held_number(const struct stream_queue *stream)
{
    return stream->reached->value + 2 * (stream->nheld + 1);
}

bool stream_queue_holds(struct stream_queue *stream, uint64_t nbytes)
{
    return nbytes <= stream->holds && stream->space.at &&
           stream_queue_launches(stream, nbytes, true) && stream->nheld < LATERS_MAX;
}

int stream_queue_hold(struct stream_queue *stream, const struct stream_work_ops *ops, void *what,
                      const struct stream_steps *steps, bool urgent)
{
    struct stream_later *later = make_later(NULL, ops, what, steps);

    later->number = stream_queue_held_number(stream);
    later->urgent = urgent;
    stream_queue_unplan(stream);
    QUEUE_PUSH(&stream->held, later, next);
    stream->nheld++;
    return MPI_SUCCESS;
}

void stream_queue_hold_not(struct stream_queue *stream, uint32_t number)
{
    stream_queue_release(stream);
    stream->reached->value = number - 1;
}

/* ---- what is put in */

/* Of a launch: when the stream gets there, when its sends are out, when all of it is done. */
struct put_numbers {
    uint32_t begin, sent, end;
};

/* Of those whose own stream has to have come first. */
static void add_comes(struct stream_queue *stream, struct stream_later *const *laters, int n,
                      uint32_t begin, bool good)
{
    for (int i = 0; i < n; i++) {
        const struct entry come = {
            .ops = laters[i]->ops, .number = begin, .wait = laters[i]->wait, .behind = true};

        if (!come.ops)
            continue;
        come.wait->put = true;
        if (!good)
            stream_wait_fail(stream, come.wait);
        stream_add_entry(stream, &come, laters[i]->what, good);
        stream_queues_count(1);
    }
}

/* The entries of laters that were put in, or (not good) were not; the first nheld are sends. The others count as one
 * call, and as one wait, until the last is over. */
static void add_laters(struct stream_queue *stream, struct stream_later *const *laters, int n,
                       int nheld, const struct put_numbers *numbers, unsigned blocks, bool good)
{
    add_comes(stream, laters, n, numbers->begin, good);
    for (int i = 0; i < n; i++) {
        const bool last = i == n - 1, held = i < nheld;
        const struct entry after = {.ops = laters[i]->after,
                                    .number = held ? numbers->sent : numbers->end,
                                    .by_stream = true,
                                    .counted = last && !held,
                                    .blocks = last ? blocks : 0,
                                    .behind = !last,
                                    .later = !held,
                                    .urgent = laters[i]->urgent};

        stream_add_entry(stream, &after, laters[i]->what, good);
        free(laters[i]);
    }
}

/* Receivers of its sends were told of that of the last one. */
static struct put_numbers take_numbers(struct stream_queue *stream,
                                       struct stream_later *const *laters, int n, int nheld)
{
    struct put_numbers numbers;

    numbers.begin = ++stream->reached->value;
    if (nheld > 0)
        stream->reached->value = laters[nheld - 1]->number;
    numbers.sent = stream->reached->value;
    numbers.end = nheld < n ? ++stream->reached->value : numbers.sent;
    return numbers;
}

static struct signal_flag number_flag(const struct stream_queue *stream, uint32_t number)
{
    return (struct signal_flag){stream->reached->at, number};
}

/* What is to be put in. false: sends, and what may wait for messages, cannot be one launch. */
static bool fill(struct stream_queue *stream, struct stream_later *const *laters, int n, int nheld,
                 const struct put_numbers *numbers, struct stream_ops *put)
{
    const struct signal_flag begin = number_flag(stream, numbers->begin);
    const struct signal_flag end = number_flag(stream, numbers->end);
    const struct stream_sends sends = {nheld, number_flag(stream, numbers->sent)};
    struct stream_steps steps[STREAM_AT_ONCE];

    for (int i = 0; i < n; i++)
        steps[i] = laters[i]->steps;
    if (nheld > 0 && nheld < n)
        return stream_ops_add_exchange(stream, put, &begin, &sends, steps, n, &end);
    stream_ops_add_copies(stream, put, &begin, steps, n, &end);
    return true;
}

/* good: a launch before has not failed; else they do, too. */
static int put_some(struct stream_queue *stream, struct stream_later *const *laters, int n,
                    int nheld, bool good, struct gpubind_error *err)
{
    const uint32_t before = stream->reached->value;
    const struct put_numbers numbers = take_numbers(stream, laters, n, nheld);
    struct stream_ops put;
    int status = -1;

    if (!fill(stream, laters, n, nheld, &numbers, &put)) {
        stream->reached->value = before;
        status = put_some(stream, laters, nheld, nheld, good, err);
        return put_some(stream, laters + nheld, n - nheld, 0, status == 0, err);
    }
    if (nheld < n)
        stream_queue_count_waits(stream, 1);
    if (good)
        status = stream_put_in(stream, put.ops, put.n, err);
    if (status < 0)
        stream_blocks_end(stream, put.blocks);
    add_laters(stream, laters, n, nheld, &numbers, status == 0 ? put.blocks : 0, status == 0);
    return status;
}

/* Behind n that were taken before. */
static int take_some(struct stream_laters *list, struct stream_later **laters, int n)
{
    while (n < STREAM_AT_ONCE && !QUEUE_EMPTY(list))
        laters[n++] = QUEUE_POP(list, next);
    return n;
}

/* All of them, since their numbers were told of: what cannot be put in fails. With the last go laters, if there are:
 * receivers of sends wait for no more than these. */
static int put_held(struct stream_queue *stream, bool with_laters, struct gpubind_error *err)
{
    struct stream_later *laters[STREAM_AT_ONCE];
    int status = 0, nheld, n;

    stream->nheld = 0;
    while ((nheld = take_some(&stream->held, laters, 0)) > 0) {
        n = with_laters && QUEUE_EMPTY(&stream->held) ? take_some(&stream->laters, laters, nheld)
                                                      : nheld;
        status = put_some(stream, laters, n, nheld, status == 0, err);
    }
    return status;
}

int stream_put_laters(struct stream_queue *stream, struct gpubind_error *err)
{
    struct stream_later *laters[STREAM_AT_ONCE];
    int status, n;

    stream->holds = 0;
    status = put_held(stream, true, err);
    while (status == 0 && (n = take_some(&stream->laters, laters, 0)) > 0)
        status = put_some(stream, laters, n, 0, true, err);
    progress_thread_wake();
    return status;
}

void stream_queue_release(struct stream_queue *stream)
{
    struct gpubind_error err;

    if (QUEUE_EMPTY(&stream->held))
        return;
    if (put_held(stream, false, &err) < 0 && stream->result == MPI_SUCCESS) {
        stream->result = MPI_ERR_OTHER;
        stream->error = err;
    }
    progress_thread_wake();
}
