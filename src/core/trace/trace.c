#include "core/trace/trace.h"

#include <stdlib.h>
#include <string.h>

int trace_init(struct trace *trace, int size, size_t room)
{
    memset(trace, 0, sizeof *trace);
    trace->size = size;
    trace->room = room;
    trace->events = calloc(room ? room : 1, sizeof *trace->events);
    trace->pairs = calloc(((size_t)size + 1) * TRACE_COLLECTIVE * TRACE_PATHS,
                          sizeof *trace->pairs);
    trace->collectives = calloc((size_t)TRACE_NAMES * TRACE_PATHS, sizeof *trace->collectives);
    if (trace->events && trace->pairs && trace->collectives)
        return 0;
    trace_free(trace);
    return -1;
}

void trace_free(struct trace *trace)
{
    free(trace->events);
    free(trace->pairs);
    free(trace->collectives);
    memset(trace, 0, sizeof *trace);
}

/* The place of a name, which is compared by its letters where it is another string. -1: there is none. */
static int place_of_name(struct trace *trace, const char *name)
{
    for (int i = 0; i < TRACE_NAMES; i++) {
        const char *there = atomic_load_explicit(&trace->names[i], memory_order_acquire);

        if (!there && atomic_compare_exchange_strong(&trace->names[i], &there, name))
            return i;
        if (there == name || strcmp(there, name) == 0)
            return i;
    }
    return -1;
}

/* NULL: it is not summed. */
static struct trace_sum *sum_of(struct trace *trace, const struct trace_event *event)
{
    const int peer = event->peer >= 0 && event->peer < trace->size ? event->peer : trace->size;
    int place;

    if (event->kind != TRACE_COLLECTIVE)
        return &trace->pairs[((size_t)peer * TRACE_COLLECTIVE + event->kind) * TRACE_PATHS +
                             event->path];
    place = place_of_name(trace, event->name);
    return place < 0 ? NULL : &trace->collectives[place * TRACE_PATHS + event->path];
}

static void add(_Atomic uint64_t *sum, uint64_t more)
{
    atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

void trace_record(struct trace *trace, const struct trace_event *event)
{
    const size_t i = atomic_fetch_add_explicit(&trace->nevents, 1, memory_order_relaxed);
    struct trace_sum *sum = sum_of(trace, event);

    if (i < trace->room)
        trace->events[i] = *event;
    if (!sum)
        return;
    add(&sum->calls, 1);
    add(&sum->bytes, event->bytes);
    add(&sum->ns, event->end - event->start);
}

void trace_rows(const struct trace_event *events, size_t n, unsigned char *rows)
{
    uint64_t ends[TRACE_KINDS][TRACE_ROWS] = {{0}};

    for (size_t i = 0; i < n; i++) {
        uint64_t *end = ends[events[i].kind];
        unsigned char row = 0;

        while (row < TRACE_ROWS - 1 && end[row] > events[i].start)
            row++;
        rows[i] = row;
        if (events[i].end > end[row])
            end[row] = events[i].end;
    }
}
