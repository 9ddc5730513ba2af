/* Work in the application's streams: starts it when a stream gets there, and completes it. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/copy/copy_agent.h"
#include "mpi/base/log.h"
#include "mpi/base/trace.h"
#include "mpi/core/request.h"
#include "mpi/stream/stream_queue_internal.h"

#define LOOK_AFTER_INTERVAL 0.1 /* seconds */
#define UNAWAITED_MAX 64        /* entries without a wait that one step looks at */

static _Atomic int busy; /* entries and quiets of all streams */
static _Atomic unsigned events;

static bool has_work(void)
{
    return busy > 0;
}

static unsigned count_events(void)
{
    return events;
}

void stream_queues_count(int more)
{
    busy += more;
    events++;
}

/* The work has been started, or has failed to. */
static void add_started(struct stream_queue *stream, struct entry *entry)
{
    if (entry->wait)
        QUEUE_PUSH(&stream->awaited, entry, next);
    else
        QUEUE_PUSH(&stream->unawaited, entry, next);
}

void stream_queue_count_waits(struct stream_queue *stream, int more)
{
    stream->waits += more;
    if (stream->gpu)
        agent_count_waiting(stream->gpu, more);
    gpu_guard(more);
}

struct stream_wait *stream_wait_make(struct stream_queue *stream, int left,
                                     struct gpubind_error *err)
{
    struct stream_wait *wait = calloc(1, sizeof *wait);

    if (wait)
        wait->flag = stream_flag_take(err);
    else
        error_set(err, "out of memory");
    if (!wait || !wait->flag) {
        free(wait);
        return NULL;
    }
    wait->left = left;
    wait->flag->value++;
    stream_queue_count_waits(stream, 1);
    return wait;
}

void stream_wait_end(struct stream_queue *stream, struct stream_wait *wait)
{
    trace(TRACE_STREAM, "stream %p: goes on", (void *)stream->handle);
    stream_flag_set(wait->flag);
    stream_flag_give(wait->flag);
    free(wait);
    stream_queue_count_waits(stream, -1);
}

static void begin(struct stream_queue *stream)
{
    struct entry *entry = QUEUE_POP(&stream->queued, next);

    events++;
    trace(TRACE_STREAM, "stream %p: got to call %u", (void *)stream->handle, entry->number);
    entry->ops->start(entry->what);
    add_started(stream, entry);
}

static void progress(bool mpi)
{
    (void)mpi;
    for (struct stream_queue *stream = stream_queues; stream; stream = stream->next)
        while (stream->queued.first &&
               stream_flag_has(stream->reached, stream->queued.first->number))
            begin(stream);
}

/* true: the work is complete, and the entry freed. */
static bool look(struct stream_queue *stream, struct entries *list, struct entry **link)
{
    struct entry *entry = *link;
    struct gpubind_error err;
    int result = MPI_SUCCESS;

    if (!entry->ops->is_over(entry->what, &result, &err))
        return false;
    if (result != MPI_SUCCESS && !entry->reported && stream->result == MPI_SUCCESS) {
        stream->result = result;
        stream->error = err;
    }
    QUEUE_UNLINK(list, link, next);
    if (entry->wait && --entry->wait->left == 0)
        stream_wait_end(stream, entry->wait);
    free(entry);
    stream_queues_count(-1);
    return true;
}

static void look_at(struct stream_queue *stream, struct entries *list, int most)
{
    struct entry **link = &list->first;

    while (*link && most > 0) {
        if (look(stream, list, link))
            continue;
        link = &(*link)->next;
        most--;
    }
}

static bool is_before(const struct entries *list, uint32_t number)
{
    return list->first && (int32_t)(list->first->number - number) < 0;
}

static void end_quiets(struct stream_queue *stream)
{
    struct stream_wait *wait;

    while ((wait = stream->quiets.first)) {
        if (is_before(&stream->queued, wait->before) || is_before(&stream->awaited, wait->before) ||
            is_before(&stream->unawaited, wait->before))
            return;
        QUEUE_POP(&stream->quiets, next);
        stream_wait_end(stream, wait);
        stream_queues_count(-1);
    }
}

static void look_after(const struct entries *list)
{
    int most = UNAWAITED_MAX;

    for (struct entry *entry = list->first; entry && most-- > 0; entry = entry->next)
        if (entry->ops->look_after)
            entry->ops->look_after(entry->what);
}

static void progress_end(void)
{
    static double looked;
    double now;

    if (busy == 0)
        return;
    for (struct stream_queue *stream = stream_queues; stream; stream = stream->next) {
        look_at(stream, &stream->awaited, INT32_MAX);
        look_at(stream, &stream->unawaited, UNAWAITED_MAX);
        end_quiets(stream);
    }
    now = clock_seconds();
    if (now - looked < LOOK_AFTER_INTERVAL)
        return;
    looked = now;
    for (struct stream_queue *stream = stream_queues; stream; stream = stream->next) {
        look_after(&stream->awaited);
        look_after(&stream->unawaited);
    }
}

static void give_up_list(const struct entries *list)
{
    for (struct entry *entry = list->first; entry; entry = entry->next)
        if (entry->ops->give_up)
            entry->ops->give_up(entry->what);
}

/* After an error of its context a stream makes no more progress. */
static bool is_lost(const struct stream_queue *stream)
{
    struct gpubind_error err;
    struct gpu *gpu = gpu_of(stream->place.context, -1, &err);

    return !gpu || gpu_is_lost(gpu);
}

static void lose(struct stream_queue *stream)
{
    struct entry *entry;

    while ((entry = QUEUE_POP(&stream->queued, next))) {
        entry->ops->fail(entry->what);
        add_started(stream, entry);
    }
}

static void give_up(void)
{
    for (struct stream_queue *stream = stream_queues; stream; stream = stream->next) {
        if (stream->queued.first && is_lost(stream))
            lose(stream);
        give_up_list(&stream->queued);
        give_up_list(&stream->awaited);
        give_up_list(&stream->unawaited);
    }
}

static void clear(void)
{
    while (stream_queues) {
        struct stream_queue *stream = stream_queues;

        stream_queues = stream->next;
        if (stream->result != MPI_SUCCESS)
            warn_once(WARN_STREAM,
                      "a message on a stream went wrong, and no later call with "
                      "the stream asked: %.450s",
                      stream->error.text);
        stream_flag_give(stream->reached);
        free(stream);
    }
}

const struct module stream_module = {
    .name = "stream",
    .progress = progress,
    .progress_end = progress_end,
    .has_work = has_work,
    .events = count_events,
    .give_up = give_up,
    .thread_ended = clear,
};
