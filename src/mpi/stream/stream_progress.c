/* Work in the application's streams: starts it when a stream gets there, and completes it. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/copy/copy_agent.h"
#include "mpi/base/log.h"
#include "mpi/base/trace.h"
#include "mpi/core/progress_thread.h"
#include "mpi/core/request.h"
#include "mpi/stream/stream_queue_internal.h"

#define LOOK_AFTER_INTERVAL 0.1 /* seconds */
#define UNAWAITED_MAX 64        /* entries without a wait that one step looks at */
#define SETTLED_MOST 4          /* entries not over at which a call that wants room looks */

static _Atomic int busy; /* entries and quiets of all streams */
static _Atomic unsigned events;
static _Atomic int nurgent; /* entries and quiets that the thread moves */

static bool has_work(void)
{
    return busy > 0 || agents_need_looks();
}

static bool can_wait(void)
{
    return nurgent == 0 && !requests_are_served();
}

static unsigned count_events(void)
{
    return events;
}

void stream_count_urgent(int more)
{
    nurgent += more;
}

void stream_queues_count(int more)
{
    busy += more;
    events++;
}

/* The work has been started, or has failed to. */
static void add_started(struct stream_queue *stream, struct entry *entry)
{
    if (entry->wait && entry->wait->put)
        QUEUE_PUSH(&stream->awaited, entry, next);
    else
        QUEUE_PUSH(&stream->unawaited, entry, next);
}

static void guard(struct stream_queue *stream, int more)
{
    if (stream->gpu && more > 0 && agent_attend(stream->gpu))
        progress_thread_wake();
    if (stream->gpu)
        agent_count_waiting(stream->gpu, more);
    if (stream->gpu && more > 0 && stream_leaves_no_channel(stream))
        agent_run_at_once(stream->gpu);
    if (more < 0 && agents_need_looks())
        progress_thread_wake();
    gpu_guard(more);
}

void stream_queue_count_waits(struct stream_queue *stream, int more)
{
    stream->waits += more;
    guard(stream, more);
}

struct stream_wait *stream_wait_make(int left, struct gpubind_error *err)
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
    return wait;
}

void stream_wait_put(struct stream_queue *stream, struct stream_wait *wait)
{
    wait->put = true;
    wait->counted = true;
    stream_queue_count_waits(stream, 1);
}

static void end_wait(struct stream_queue *stream, struct stream_wait *wait, bool keeps_flag)
{
    stream_flag_set(wait->flag);
    if (!keeps_flag)
        stream_flag_give(wait->flag);
    if (wait->counted)
        stream_queue_count_waits(stream, -1);
    else if (wait->quiet)
        guard(stream, -1);
    free(wait);
}

void stream_wait_end(struct stream_queue *stream, struct stream_wait *wait)
{
    trace(TRACE_STREAM, "stream %p: goes on", (void *)stream->handle);
    end_wait(stream, wait, false);
}

void stream_wait_fail(struct stream_queue *stream, struct stream_wait *wait)
{
    end_wait(stream, wait, wait->flag->name != 0);
}

static void begin(struct stream_queue *stream)
{
    struct entry *entry = QUEUE_POP(&stream->queued, next);

    stream->nqueued -= !entry->behind;
    events++;
    trace(TRACE_STREAM, "stream %p: got to call %u", (void *)stream->handle, entry->number);
    if (entry->ops->start)
        entry->ops->start(entry->what);
    add_started(stream, entry);
}

static void begin_reached(struct stream_queue *stream)
{
    while (stream->queued.first && stream_flag_has(stream->reached, stream->queued.first->number))
        begin(stream);
}

static void progress(bool mpi)
{
    (void)mpi;
    for (struct stream_queue *stream = stream_queues; stream; stream = stream->next) {
        begin_reached(stream);
        if (stream->broken && !stream->open && !stream->queued.first) {
            stream_flag_set(stream->reached);
            stream->broken = false;
        }
    }
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
    if (entry->counted)
        stream_queue_count_waits(stream, -1);
    if (entry->urgent)
        stream_count_urgent(-1);
    if (entry->later)
        stream_later_end();
    stream_blocks_end(stream, entry->blocks);
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

void stream_settle(struct stream_queue *stream)
{
    const struct entry *first = stream->queued.first;

    if (!first || !first->by_stream || !stream_flag_has(stream->reached, first->number))
        return;
    begin_reached(stream);
    look_at(stream, &stream->unawaited, UNAWAITED_MAX);
}

void stream_settle_first(struct stream_queue *stream)
{
    begin_reached(stream);
    look_at(stream, &stream->awaited, SETTLED_MOST);
    look_at(stream, &stream->unawaited, SETTLED_MOST);
}

static bool is_among(const struct entry *entry, struct call_range calls)
{
    return (int32_t)(entry->number - calls.first) >= 0 && (int32_t)(entry->number - calls.end) < 0;
}

static bool has_open(const struct entries *list, struct call_range calls)
{
    for (const struct entry *entry = list->first; entry && (int32_t)(entry->number - calls.end) < 0;
         entry = entry->next)
        if (is_among(entry, calls) && !entry->by_stream && !entry->reported &&
            !(entry->wait && entry->wait->put))
            return true;
    return false;
}

/* Those that a quiet may put in; n and more are only counted. */
static int find_waits(const struct entries *list, struct call_range calls,
                      struct stream_wait **waits, int found, int n)
{
    for (const struct entry *entry = list->first; entry; entry = entry->next)
        if (is_among(entry, calls) && entry->wait && !entry->wait->put && !entry->wait->common) {
            if (found < n)
                waits[found] = entry->wait;
            found++;
        }
    return found;
}

static void leave_waits(struct stream_queue *stream, const struct entries *list, uint32_t quiet)
{
    for (const struct entry *entry = list->first; entry; entry = entry->next) {
        struct stream_wait *wait = entry->wait;

        if (!wait || wait->quiet != quiet || wait->put != (quiet != 0))
            continue;
        if (wait->put)
            guard(stream, -1);
        wait->put = false;
        wait->quiet = 0;
        wait->common = true;
    }
}

static void next_quiet(struct stream_queue *stream)
{
    if (++stream->nquiets == 0)
        stream->nquiets++;
}

static void put_by_quiet(struct stream_queue *stream, struct stream_wait *wait)
{
    wait->put = true;
    wait->quiet = stream->nquiets;
    guard(stream, 1);
}

void stream_wait_put_later(struct stream_queue *stream, struct stream_wait *wait)
{
    next_quiet(stream);
    put_by_quiet(stream, wait);
}

int stream_waits_take(struct stream_queue *stream, struct call_range calls,
                      struct stream_wait **waits, int n)
{
    const int found = find_waits(&stream->queued, calls, waits,
                                 find_waits(&stream->unawaited, calls, waits, 0, n), n);

    next_quiet(stream);
    if (found > n) {
        leave_waits(stream, &stream->unawaited, 0);
        leave_waits(stream, &stream->queued, 0);
        return 0;
    }
    for (int i = 0; i < found; i++)
        put_by_quiet(stream, waits[i]);
    return found;
}

void stream_waits_leave(struct stream_queue *stream)
{
    leave_waits(stream, &stream->unawaited, stream->nquiets);
    leave_waits(stream, &stream->awaited, stream->nquiets);
    leave_waits(stream, &stream->queued, stream->nquiets);
}

bool stream_leaves_open(const struct stream_queue *stream, struct call_range calls)
{
    return has_open(&stream->queued, calls) || has_open(&stream->unawaited, calls) ||
           has_open(&stream->awaited, calls);
}

static void end_quiets(struct stream_queue *stream)
{
    struct stream_wait *wait;

    while ((wait = stream->quiets.first)) {
        if (stream_leaves_open(stream, wait->entries))
            return;
        QUEUE_POP(&stream->quiets, next);
        stream_wait_end(stream, wait);
        stream_queues_count(-1);
        stream_count_urgent(-1);
    }
}

static void look_after(const struct entries *list, bool begun)
{
    int most = UNAWAITED_MAX;

    for (struct entry *entry = list->first; entry && most-- > 0; entry = entry->next)
        if (entry->ops->look_after && (begun || entry->by_stream))
            entry->ops->look_after(entry->what);
}

static void progress_end(void)
{
    static double looked;
    double now;

    agents_look_after();
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
        look_after(&stream->queued, false);
        look_after(&stream->awaited, true);
        look_after(&stream->unawaited, true);
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
    return !stream->whole || gpu_is_lost(stream->whole);
}

static void lose(struct stream_queue *stream)
{
    struct entry *entry;

    while ((entry = QUEUE_POP(&stream->queued, next))) {
        entry->ops->fail(entry->what);
        add_started(stream, entry);
    }
    stream->nqueued = 0;
    stream->broken = true;
}

static void give_up(void)
{
    struct gpubind_error unheard; /* of calls whose end nobody has asked for */

    for (struct stream_queue *stream = stream_queues; stream; stream = stream->next) {
        stream_queue_release(stream);
        stream_put_laters(stream, &unheard);
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
        stream_queue_free(stream);
    }
}

const struct module stream_module = {
    .name = "stream",
    .progress = progress,
    .progress_end = progress_end,
    .has_work = has_work,
    .look_around = stream_channels_look,
    .can_wait = can_wait,
    .events = count_events,
    .give_up = give_up,
    .thread_ended = clear,
};
