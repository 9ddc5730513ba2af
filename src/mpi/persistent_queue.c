#include "mpi/persistent_queue.h"

#include <stdlib.h>

#include "mpi/engine.h"
#include "mpi/persistent.h"
#include "mpi/stream_calls.h"

/* Each start is a message of its own: the next may be queued before this one has gone, and
 * messages of a pair keep their order. */
struct start {
    struct pair *pair;
    struct gpubind_operation *message;
    uint64_t number; /* of the pair's starts */
};

/* ---- what a stream does to it */

static void begin(void *what)
{
    stream_message_start(((struct start *)what)->message);
}

static void fail(void *what)
{
    stream_message_fail(((struct start *)what)->message);
}

static bool is_over(void *what, int *result, struct gpubind_error *err)
{
    struct start *start = what;
    struct pair *pair = start->pair;

    if (!stream_message_is_over(start->message, result, err))
        return false;
    free(start);
    pair->streamed--;
    pair_settle(pair);
    return true;
}

/* The other side was freed before it started as many. */
static void end_unmatched(const struct start *start)
{
    struct gpubind_operation *message = start->message;

    if (message->done || !start->pair->limited || start->number <= start->pair->last)
        return;
    if (message->kind == OPERATION_SEND ||
        (!message->early && !message->held && match_withdraw(message)))
        operation_end(message, MPI_ERR_OTHER, "%s", start->pair->why.text);
}

/* Of the tag that the message has beside the application's nothing is said. */
static void look_after(void *what)
{
    struct gpubind_operation *message = ((struct start *)what)->message;

    end_unmatched(what);
    if (!message->done && message->order == ORDER_DONE && engine_peer_is_gone(message))
        engine_look_after(message);
}

static void give_up(void *what)
{
    const struct start *start = what;

    stream_message_give_up(start->message, start->pair->request->tag);
}

static const struct on_stream_verbs verbs = {begin, fail, is_over, look_after, give_up};

/* ---- a call */

int persistent_queue_make(struct persistent_queue *queue, int n, struct gpubind_error *err)
{
    *queue = (struct persistent_queue){NULL, 0};
    if (n == 0)
        return 0;
    queue->starts = calloc((size_t)n, sizeof *queue->starts);
    return queue->starts ? 0 : error_set(err, "out of memory");
}

int persistent_queue_add(struct persistent_queue *queue, struct pair *pair,
                         struct gpubind_error *err)
{
    struct start *start;
    int result = MPI_ERR_OTHER;

    if (stream_message_check(pair->request, err) < 0)
        return MPI_ERR_OTHER;
    start = malloc(sizeof *start);
    if (!start) {
        error_set(err, "out of memory");
        return MPI_ERR_OTHER;
    }
    start->pair = pair;
    start->message = persistent_message(pair, CALL_ON_STREAM, &result, err);
    if (!start->message) {
        free(start);
        return result;
    }
    queue->starts[queue->n++] = start;
    return MPI_SUCCESS;
}

int persistent_queue_go(struct persistent_queue *queue, struct on_stream *stream,
                        enum on_stream_wait wait, struct gpubind_error *err)
{
    const int n = queue->n;

    for (int i = 0; i < n; i++) {
        struct start *start = queue->starts[i];

        start->number = start->pair->starts;
        start->message->waited = true;
        start->pair->streamed++;
        message_start(start->message, false);
    }
    queue->n = 0;
    return on_stream_queue(stream, &verbs, queue->starts, n, wait, err);
}

void persistent_queue_clear(struct persistent_queue *queue)
{
    for (int i = 0; i < queue->n; i++) {
        struct start *start = queue->starts[i];

        operation_forget(start->message);
        free(start);
    }
    free(queue->starts);
}
