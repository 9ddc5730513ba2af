/* What streams have been given, step by step. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/agent.h"
#include "mpi/core/log.h"
#include "mpi/core/request.h"
#include "mpi/core/trace.h"
#include "mpi/stream/stream_queue_internal.h"

#define LOOK_AFTER 0.1 /* seconds */
#define LOOSE_MOST 64  /* that nothing waits for, looked at at a time */

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

void on_streams_count(int more)
{
    busy += more;
    events++;
}

void list_append(struct list *list, struct entry *entry)
{
    entry->next = NULL;
    *list->end = entry;
    list->end = &entry->next;
}

struct entry *list_take(struct list *list, struct entry **link)
{
    struct entry *entry = *link;

    *link = entry->next;
    if (list->end == &entry->next)
        list->end = link;
    return entry;
}

void on_stream_waits(struct on_stream *stream, int more)
{
    stream->waits += more;
    if (stream->gpu)
        agent_hold(stream->gpu, more);
    gpu_hold(more);
}

struct gate *gate_make(struct on_stream *stream, int left, struct gpubind_error *err)
{
    struct gate *gate = calloc(1, sizeof *gate);

    if (gate)
        gate->word = word_take(err);
    else
        error_set(err, "out of memory");
    if (!gate || !gate->word) {
        free(gate);
        return NULL;
    }
    gate->left = left;
    gate->word->value++;
    on_stream_waits(stream, 1);
    return gate;
}

void gate_open(struct on_stream *stream, struct gate *gate)
{
    trace(TRACE_STREAM, "stream %p: goes on", (void *)stream->handle);
    word_open(gate->word);
    word_give(gate->word);
    free(gate);
    on_stream_waits(stream, -1);
}

static void begin(struct on_stream *stream)
{
    struct entry *entry = list_take(&stream->queued, &stream->queued.first);

    events++;
    trace(TRACE_STREAM, "stream %p: got to call %u", (void *)stream->handle, entry->number);
    entry->verbs->start(entry->what);
    list_append(entry->gate ? &stream->gated : &stream->loose, entry);
}

static void progress(bool mpi)
{
    (void)mpi;
    for (struct on_stream *stream = on_streams; stream; stream = stream->next)
        while (stream->queued.first && word_has(stream->reached, stream->queued.first->number))
            begin(stream);
}

/* true: it is over, and the entry is no more. */
static bool look(struct on_stream *stream, struct list *list, struct entry **link)
{
    struct entry *entry = *link;
    struct gpubind_error err;
    int result = MPI_SUCCESS;

    if (!entry->verbs->is_over(entry->what, &result, &err))
        return false;
    if (result != MPI_SUCCESS && !entry->said && stream->result == MPI_SUCCESS) {
        stream->result = result;
        stream->error = err;
    }
    list_take(list, link);
    if (entry->gate && --entry->gate->left == 0)
        gate_open(stream, entry->gate);
    free(entry);
    on_streams_count(-1);
    return true;
}

static void look_at(struct on_stream *stream, struct list *list, int most)
{
    struct entry **link = &list->first;

    while (*link && most > 0) {
        if (look(stream, list, link))
            continue;
        link = &(*link)->next;
        most--;
    }
}

static bool is_before(const struct list *list, uint32_t number)
{
    return list->first && (int32_t)(list->first->number - number) < 0;
}

static void open_quiets(struct on_stream *stream)
{
    while (stream->quiets) {
        struct gate *gate = stream->quiets;

        if (is_before(&stream->queued, gate->before) || is_before(&stream->gated, gate->before) ||
            is_before(&stream->loose, gate->before))
            return;
        stream->quiets = gate->next;
        if (!stream->quiets)
            stream->quiets_end = &stream->quiets;
        gate_open(stream, gate);
        on_streams_count(-1);
    }
}

static void look_after(const struct list *list)
{
    int most = LOOSE_MOST;

    for (struct entry *entry = list->first; entry && most-- > 0; entry = entry->next)
        if (entry->verbs->look_after)
            entry->verbs->look_after(entry->what);
}

static void progress_end(void)
{
    static double looked;
    double now;

    if (busy == 0)
        return;
    for (struct on_stream *stream = on_streams; stream; stream = stream->next) {
        look_at(stream, &stream->gated, INT32_MAX);
        look_at(stream, &stream->loose, LOOSE_MOST);
        open_quiets(stream);
    }
    now = operation_clock();
    if (now - looked < LOOK_AFTER)
        return;
    looked = now;
    for (struct on_stream *stream = on_streams; stream; stream = stream->next) {
        look_after(&stream->gated);
        look_after(&stream->loose);
    }
}

static void give_up_list(const struct list *list)
{
    for (struct entry *entry = list->first; entry; entry = entry->next)
        if (entry->verbs->give_up)
            entry->verbs->give_up(entry->what);
}

/* After an error of its context a stream gets nowhere any more. */
static bool is_lost(const struct on_stream *stream)
{
    struct gpubind_error err;
    struct gpu *gpu = gpu_of(stream->place.context, -1, &err);

    return !gpu || gpu_is_lost(gpu);
}

static void lose(struct on_stream *stream)
{
    while (stream->queued.first) {
        struct entry *entry = list_take(&stream->queued, &stream->queued.first);

        entry->verbs->fail(entry->what);
        list_append(entry->gate ? &stream->gated : &stream->loose, entry);
    }
}

static void give_up(void)
{
    for (struct on_stream *stream = on_streams; stream; stream = stream->next) {
        if (stream->queued.first && is_lost(stream))
            lose(stream);
        give_up_list(&stream->queued);
        give_up_list(&stream->gated);
        give_up_list(&stream->loose);
    }
}

static void clear(void)
{
    while (on_streams) {
        struct on_stream *stream = on_streams;

        on_streams = stream->next;
        if (stream->result != MPI_SUCCESS)
            warn_once(WARN_STREAM, "a message on a stream went wrong, and no later call with "
                      "the stream asked: %.450s", stream->error.text);
        word_give(stream->reached);
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
