#include "mpi/persistent/persistent_queue.h"

#include <stdlib.h>

#include "mpi/core/progress.h"
#include "mpi/p2p/stream_message.h"
#include "mpi/persistent/persistent.h"

/* Each start is a message of its own: the next may be queued before this one has gone, and
 * messages of a pair keep their order. */
struct start {
    struct pair *pair;
    struct gpubind_operation *message;
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

static void look_after(void *what)
{
    struct gpubind_operation *message = ((struct start *)what)->message;

    if (!message->done && message->order != ORDER_DEFERRED)
        message->ops->look_after(message);
}

static void give_up(void *what)
{
    const struct start *start = what;

    stream_message_give_up(start->message, start->pair->request->tag);
}

static const struct stream_work_ops verbs = {begin, fail, is_over, look_after, give_up};

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
    stream_message_prepare(start->message);
    queue->starts[queue->n++] = start;
    return MPI_SUCCESS;
}

static void drop(struct start *start)
{
    operation_forget(start->message);
    free(start);
}

static bool is_answered(const void *pair)
{
    return !pair_awaits(pair);
}

/* Another thread has taken the message that there was for it. */
static void wait_for_answer(struct pair *pair)
{
    pair->starting--;
    pair_decide(pair);
    while (pair_awaits(pair) && !progress_wait_for(is_answered, pair, 0.1) &&
           !request_peer_is_gone(pair->request))
        ;
    pair->starting++;
}

/* Since the message was prepared the channel may have come. */
void persistent_queue_announce(struct persistent_queue *queue)
{
    int n = 0;

    for (int i = 0; i < queue->n; i++) {
        struct start *start = queue->starts[i];
        struct pair *pair = start->pair;

        if (pair_awaits(pair) && !pair_sends(pair))
            wait_for_answer(pair);
        pair->starting++;
        pair->by_message = !persistent_has_channel(pair);
        if (pair->by_message) {
            start->message->waited = true;
            pair->streamed++;
            message_start(start->message, false);
            queue->starts[n++] = start;
        } else {
            drop(start);
        }
        pair->starting--;
        pair_decide(pair);
    }
    queue->n = n;
}

int persistent_queue_go(struct persistent_queue *queue, struct stream_queue *stream,
                        enum stream_wait_mode wait, struct gpubind_error *err)
{
    const int n = queue->n;

    queue->n = 0;
    return n > 0 && stream ? stream_queue_add(stream, &verbs, queue->starts, n, wait,
                                              err) : MPI_SUCCESS;
}

void persistent_queue_clear(struct persistent_queue *queue)
{
    for (int i = 0; i < queue->n; i++)
        drop(queue->starts[i]);
    free(queue->starts);
}
