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

static struct stream_later *make_planned(struct stream_queue *stream,
                                         const struct stream_work_ops *ops,
                                         const struct stream_work_ops *after, void *what,
                                         const struct stream_steps *steps)
{
    struct stream_later *later = make_later(ops, after, what, steps);

    later->wait = stream->planned;
    stream->planned = NULL;
    return later;
}

int stream_queue_offer(struct stream_queue *stream, const struct stream_work_ops *ops, void *what)
{
    const struct stream_steps steps = {.wait = stream_flag_to_await(stream->planned)};
    struct stream_later *offer = make_planned(stream, ops, NULL, what, &steps);

    QUEUE_PUSH(&stream->offers, offer, next);
    stream->nheld++;
    return MPI_SUCCESS;
}

int stream_queue_take(struct stream_queue *stream, const struct stream_work_ops *ops,
                      const struct stream_work_ops *after, void *what,
                      const struct stream_steps *steps)
{
    struct stream_later *take = make_planned(stream, ops, after, what, steps);

    QUEUE_PUSH(&stream->takes, take, next);
    nlaters++;
    return MPI_SUCCESS;
}

void stream_queue_hold_not(struct stream_queue *stream, uint32_t number)
{
    stream_queue_release(stream);
    stream->reached->value = number - 1;
}

bool stream_queue_is_held(const struct stream_queue *stream)
{
    return !QUEUE_EMPTY(&stream->held) || !QUEUE_EMPTY(&stream->offers) ||
           !QUEUE_EMPTY(&stream->takes);
}
