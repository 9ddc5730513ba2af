/* Puts in what was kept for a quiet. */
#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "mpi/core/progress_thread.h"
#include "mpi/stream/stream_queue_internal.h"

/* Of a launch: when the stream gets there, when its sends are out, when all of it is done. */
struct put_numbers {
    uint32_t begin, sent, end;
};

/* Calls in one array: sends that are held, offers, laters, takes. */
struct put_calls {
    struct stream_later *calls[STREAM_AT_ONCE];
    int nsends, noffers, nlaters, ntakes;
};

static int all_of(const struct put_calls *put)
{
    return put->nsends + put->noffers + put->nlaters + put->ntakes;
}

/* Sends and offers, which come first. */
static int outgoing(const struct put_calls *put)
{
    return put->nsends + put->noffers;
}

/* Of those whose own stream has to have come first. */
static void add_comes(struct stream_queue *stream, const struct put_calls *put, uint32_t begin,
                      bool good)
{
    for (int i = outgoing(put); i < outgoing(put) + put->nlaters; i++) {
        const struct stream_later *later = put->calls[i];
        const struct entry come = {
            .ops = later->ops, .number = begin, .wait = later->wait, .behind = true};

        if (!come.ops)
            continue;
        come.wait->put = true;
        if (!good)
            stream_wait_fail(stream, come.wait);
        stream_add_entry(stream, &come, later->what, good);
        stream_queues_count(1);
    }
}

/* The stream waits for it in this launch. */
static struct entry offer_entry(struct stream_queue *stream, struct stream_later *offer, bool good)
{
    if (!good)
        stream_wait_fail(stream, offer->wait);
    return (struct entry){.ops = offer->ops, .wait = good ? offer->wait : NULL};
}

/* The entries of what was put in, or (not good) was not. Receives count as one call, and as one wait, until the last
 * is over. */
static void add_calls(struct stream_queue *stream, struct put_calls *put,
                      const struct put_numbers *numbers, unsigned blocks, bool good)
{
    const int n = all_of(put);

    add_comes(stream, put, numbers->begin, good);
    for (int i = 0; i < n; i++) {
        struct stream_later *call = put->calls[i];
        const bool last = i == n - 1, out = i < outgoing(put), offer = out && i >= put->nsends;
        struct entry entry = {.ops = call->after, .by_stream = true};

        if (offer)
            entry = offer_entry(stream, call, good);
        else if (i >= n - put->ntakes)
            stream_wait_end(stream, call->wait); /* which nothing waits for */
        entry.number = out ? numbers->sent : numbers->end;
        entry.counted = last && !out;
        entry.blocks = last ? blocks : 0;
        entry.behind = !last;
        entry.later = !out;
        entry.urgent = call->urgent;
        stream_add_entry(stream, &entry, call->what, good);
        free(call);
    }
}

/* Receivers of its sends were told of that of the last one. */
static struct put_numbers take_numbers(struct stream_queue *stream, const struct put_calls *put)
{
    struct put_numbers numbers;

    numbers.begin = ++stream->reached->value;
    if (put->nsends > 0)
        stream->reached->value = put->calls[put->nsends - 1]->number;
    numbers.sent = stream->reached->value;
    numbers.end = outgoing(put) < all_of(put) ? ++stream->reached->value : numbers.sent;
    return numbers;
}

static struct signal_flag number_flag(const struct stream_queue *stream, uint32_t number)
{
    return (struct signal_flag){stream->reached->at, number};
}

/* Where the launch ends with its offers, nobody is told of that, and their entries have begun: a number written then
 * could be behind one that the host has written for a later call. */
static struct signal_flag end_flag(const struct stream_queue *stream, const struct put_calls *put,
                                   const struct put_numbers *numbers)
{
    if (put->noffers > 0 && numbers->end == numbers->sent)
        return stream_no_flag;
    return number_flag(stream, numbers->end);
}

/* What is to be put in. false: sends, and what may wait for messages, cannot be one launch. */
static bool fill(struct stream_queue *stream, const struct put_calls *put,
                 const struct put_numbers *numbers, struct stream_ops *ops)
{
    const struct signal_flag begin = number_flag(stream, numbers->begin);
    const struct signal_flag end = end_flag(stream, put, numbers);
    const struct stream_sends sends = {put->nsends, number_flag(stream, numbers->sent)};
    const int n = all_of(put);
    struct stream_steps steps[STREAM_AT_ONCE];

    for (int i = 0; i < n; i++)
        steps[i] = put->calls[i]->steps;
    if (put->noffers + put->ntakes > 0 || (put->nsends > 0 && put->nsends < n))
        return stream_ops_add_exchange(stream, ops, &begin, &sends, steps, n, &end);
    stream_ops_add_copies(stream, ops, &begin, steps, n, &end);
    return true;
}

/* Before the launch: from then on it may wait. */
static void count_waits(struct stream_queue *stream, const struct put_calls *put)
{
    if (outgoing(put) < all_of(put))
        stream_queue_count_waits(stream, 1);
    for (int i = put->nsends; i < outgoing(put); i++)
        stream_wait_put_later(stream, put->calls[i]->wait);
}

/* good: a launch before has not failed; else they do, too. */
static int launch(struct stream_queue *stream, struct put_calls *put,
                  const struct put_numbers *numbers, const struct stream_ops *ops, bool good,
                  struct gpubind_error *err)
{
    int status = -1;

    count_waits(stream, put);
    if (good)
        status = stream_put_in(stream, ops->ops, ops->n, err);
    if (status < 0)
        stream_blocks_end(stream, ops->blocks);
    add_calls(stream, put, numbers, status == 0 ? ops->blocks : 0, status == 0);
    return status;
}

static int put_some(struct stream_queue *stream, struct put_calls *put, bool good,
                    struct gpubind_error *err);

/* The sends first: receivers of theirs do not wait for what the laters wait for. */
static int put_in_two(struct stream_queue *stream, struct put_calls *put, bool good,
                      struct gpubind_error *err)
{
    struct put_calls laters = {.nlaters = put->nlaters};
    int status;

    memcpy(laters.calls, put->calls + put->nsends, (size_t)put->nlaters * sizeof(void *));
    put->nlaters = 0;
    status = put_some(stream, put, good, err);
    return put_some(stream, &laters, status == 0, err);
}

/* Sends and laters alone. */
static int put_some(struct stream_queue *stream, struct put_calls *put, bool good,
                    struct gpubind_error *err)
{
    const uint32_t before = stream->reached->value;
    const struct put_numbers numbers = take_numbers(stream, put);
    struct stream_ops ops;

    if (fill(stream, put, &numbers, &ops))
        return launch(stream, put, &numbers, &ops, good, err);
    stream->reached->value = before;
    return put_in_two(stream, put, good, err);
}

/* Behind n that were taken before. Returns how many. */
static int take_some(struct stream_laters *list, struct stream_later **calls, int n)
{
    int taken = 0;

    while (n + taken < STREAM_AT_ONCE && !QUEUE_EMPTY(list))
        calls[n + taken++] = QUEUE_POP(list, next);
    return taken;
}

/* All of them, since their numbers were told of: what cannot be put in fails. With the last go laters, if there are:
 * receivers of sends wait for no more than these. */
static int put_held(struct stream_queue *stream, bool with_laters, struct gpubind_error *err)
{
    int status = 0;

    for (;;) {
        struct put_calls put = {.nsends = 0};

        put.nsends = take_some(&stream->held, put.calls, 0);
        if (put.nsends == 0)
            return status;
        if (with_laters && QUEUE_EMPTY(&stream->held))
            put.nlaters = take_some(&stream->laters, put.calls, put.nsends);
        status = put_some(stream, &put, status == 0, err);
    }
}

/* ---- offers and takes */

static int find_all(const struct stream_laters *list, struct stream_later **calls, int n)
{
    int found = 0;

    for (struct stream_later *call = list->first; call; call = call->next, found++)
        if (n + found < STREAM_AT_ONCE)
            calls[n + found] = call;
    return found;
}

/* Without copies, which are done first, what others were told of is reached at the begin. */
static struct put_numbers whole_numbers(struct stream_queue *stream, const struct put_calls *put)
{
    struct put_numbers numbers;
    const uint32_t before = stream->reached->value;

    numbers.sent = put->nsends + put->noffers > 0 ? before + 2 * stream->nheld : before + 1;
    numbers.begin = put->nsends > 0 ? before + 1 : numbers.sent;
    numbers.end = outgoing(put) < all_of(put) ? numbers.sent + 1 : numbers.sent;
    stream->reached->value = numbers.end;
    return numbers;
}

static void forget_all(struct stream_laters *list)
{
    *list = (struct stream_laters){NULL, NULL};
}

/* All that the quiet puts in by one launch, whose blocks wait each for its own: a rank's takes do not wait for each other
 * then, and no offer of another waits for more than its own. false: that cannot be, and nothing was put in. */
static bool put_whole(struct stream_queue *stream, int *status, struct gpubind_error *err)
{
    const uint32_t before = stream->reached->value;
    struct put_calls put;
    struct put_numbers numbers;
    struct stream_ops ops;

    if (QUEUE_EMPTY(&stream->offers) && QUEUE_EMPTY(&stream->takes))
        return false;
    put.noffers = put.nlaters = put.ntakes = 0;
    put.nsends = find_all(&stream->held, put.calls, 0);
    put.noffers = find_all(&stream->offers, put.calls, all_of(&put));
    put.nlaters = find_all(&stream->laters, put.calls, all_of(&put));
    put.ntakes = find_all(&stream->takes, put.calls, all_of(&put));
    if (all_of(&put) > STREAM_AT_ONCE)
        return false;
    numbers = whole_numbers(stream, &put);
    if (!fill(stream, &put, &numbers, &ops)) {
        stream->reached->value = before;
        return false;
    }
    forget_all(&stream->held);
    forget_all(&stream->offers);
    forget_all(&stream->laters);
    forget_all(&stream->takes);
    stream->nheld = 0;
    *status = launch(stream, &put, &numbers, &ops, true, err);
    return true;
}

static void add_planned(struct stream_queue *stream, struct stream_laters *list, bool takes,
                        bool good)
{
    struct stream_later *call;

    while ((call = QUEUE_POP(list, next))) {
        const struct entry entry = {.ops = call->ops,
                                    .number = stream->reached->value,
                                    .wait = call->wait,
                                    .urgent = takes};

        if (takes)
            stream_later_end();

        if (!good)
            stream_wait_fail(stream, call->wait);
        stream_add_entry(stream, &entry, call->what, good);
        free(call);
    }
}

/* They become calls without a wait, which the quiet finds: the receiver's thread takes the data. */
static int put_apart(struct stream_queue *stream, uint32_t told, bool good,
                     struct gpubind_error *err)
{
    struct stream_op reached;
    int status = -1;

    if (QUEUE_EMPTY(&stream->offers) && QUEUE_EMPTY(&stream->takes))
        return good ? 0 : -1;
    if ((int32_t)(told - ++stream->reached->value) > 0)
        stream->reached->value = told;
    reached = stream_write_op(stream->reached);
    if (good)
        status = stream_put_in(stream, &reached, 1, err);
    add_planned(stream, &stream->offers, false, status == 0);
    add_planned(stream, &stream->takes, true, status == 0);
    return status;
}

static int put_outgoing(struct stream_queue *stream, bool with_laters, struct gpubind_error *err)
{
    const uint32_t told = stream->reached->value + 2 * stream->nheld;
    int status;

    stream->nheld = 0;
    status = put_held(
        stream, with_laters && QUEUE_EMPTY(&stream->offers) && QUEUE_EMPTY(&stream->takes), err);
    return put_apart(stream, told, status == 0, err);
}

int stream_put_laters(struct stream_queue *stream, struct gpubind_error *err)
{
    int status;

    stream->holds = 0;
    if (!put_whole(stream, &status, err))
        status = put_outgoing(stream, true, err);
    while (!QUEUE_EMPTY(&stream->laters)) {
        struct put_calls put = {.nsends = 0};

        put.nlaters = take_some(&stream->laters, put.calls, 0);
        status = put_some(stream, &put, status == 0, err);
    }
    progress_thread_wake();
    return status;
}

void stream_queue_release(struct stream_queue *stream)
{
    struct gpubind_error err;

    if (!stream_queue_is_held(stream))
        return;
    if (put_outgoing(stream, false, &err) < 0 && stream->result == MPI_SUCCESS) {
        stream->result = MPI_ERR_OTHER;
        stream->error = err;
    }
    progress_thread_wake();
}
