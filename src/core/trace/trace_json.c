/* The document: the Trace Event Format's JSON object, in whose traceEvents each event is a complete one
 * ("X"); viewers pass over the member "gpubind", which has the sums. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/json.h"
#include "core/trace/trace.h"

static const char *const paths[TRACE_PATHS] = {"direct",   "packed", "nccl",
                                               "buffered", "staged", "plain"};
static const char *const kinds[TRACE_KINDS] = {NULL,  "send",       "receive",   "put",
                                               "get", "accumulate", "collective"};

/* Of enum trace_library. */
static const struct {
    const char *name;
    const char *suffix; /* of its rows' names */
    int threads;        /* their numbers begin there */
} libraries[] = {{"libgpubind-aware", "", 0}, {"libgpubind", ", libgpubind", 1000}};

static int by_start(const void *left, const void *right)
{
    const struct trace_event *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end == b->end ? 0 : a->end > b->end ? -1 : 1; /* what is around others first */
}

/* Microseconds. */
static void add_time(struct json *json, const char *key, uint64_t ns)
{
    json_value(json, key, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

/* Rows of a kind stand together, and each is a thread to the viewer. */
static int thread_of(const struct trace_job *job, int kind, int row)
{
    return libraries[job->whose].threads + kind * 100 + row;
}

static void add_peer(struct json *json, int peer)
{
    if (peer < 0)
        json_string(json, "peer", NULL);
    else
        json_value(json, "peer", "%d", peer);
}

static void add_event(struct json *json, const struct trace_event *event, int row,
                      const struct trace_job *job)
{
    const bool together = event->kind == TRACE_COLLECTIVE;
    const uint64_t start = event->start > job->started ? event->start - job->started : 0;

    json_newline(json, 1);
    json_open(json, NULL, '{');
    json_value(json, "name", "\"%s, %s\"", together ? event->name : kinds[event->kind],
               paths[event->path]);
    json_string(json, "cat", kinds[event->kind]);
    json_string(json, "ph", "X");
    json_value(json, "pid", "%d", job->rank);
    json_value(json, "tid", "%d", thread_of(job, event->kind, row));
    add_time(json, "ts", start);
    add_time(json, "dur", event->end > event->start ? event->end - event->start : 0);
    json_open(json, "args", '{');
    if (!together)
        add_peer(json, event->peer);
    if (event->kind == TRACE_SEND || event->kind == TRACE_RECEIVE)
        json_value(json, "tag", "%d", event->tag);
    json_value(json, "bytes", "%" PRIu64, event->bytes);
    json_string(json, "path", paths[event->path]);
    json_close(json, '}');
    json_close(json, '}');
}

/* What a viewer is told of a rank or a row: begins an object, whose only member is to be added. */
static void open_about(struct json *json, const char *what, int rank, int thread)
{
    json_newline(json, 1);
    json_open(json, NULL, '{');
    json_string(json, "name", what);
    json_string(json, "ph", "M");
    json_value(json, "pid", "%d", rank);
    json_value(json, "tid", "%d", thread);
    json_open(json, "args", '{');
}

static void close_about(struct json *json)
{
    json_close(json, '}');
    json_close(json, '}');
}

/* Viewers sort by the number. */
static void add_order(struct json *json, const char *what, int rank, int thread, int order)
{
    open_about(json, what, rank, thread);
    json_value(json, "sort_index", "%d", order);
    close_about(json);
}

static void add_row(struct json *json, const struct trace_job *job, int kind, int row)
{
    const int thread = thread_of(job, kind, row);
    const char *suffix = libraries[job->whose].suffix;

    open_about(json, "thread_name", job->rank, thread);
    if (row == 0)
        json_value(json, "name", "\"%s%s\"", kinds[kind], suffix);
    else
        json_value(json, "name", "\"%s%s %d\"", kinds[kind], suffix, row + 1);
    close_about(json);
    add_order(json, "thread_sort_index", job->rank, thread, thread);
}

static void add_names(struct json *json, const struct trace_event *events,
                      const unsigned char *rows, size_t n, const struct trace_job *job)
{
    int most[TRACE_KINDS];

    for (int kind = 0; kind < TRACE_KINDS; kind++)
        most[kind] = -1;
    for (size_t i = 0; i < n; i++)
        if (rows[i] > most[events[i].kind])
            most[events[i].kind] = rows[i];
    open_about(json, "process_name", job->rank, thread_of(job, 0, 0));
    json_value(json, "name", "\"rank %d\"", job->rank);
    close_about(json);
    add_order(json, "process_sort_index", job->rank, thread_of(job, 0, 0), job->rank);
    for (int kind = TRACE_SEND; kind < TRACE_KINDS; kind++)
        for (int row = 0; row <= most[kind]; row++)
            add_row(json, job, kind, row);
}

/* Those that a thread was about to write when the trace ended have no kind. */
static size_t settle(struct trace *trace, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (trace->events[i].kind != TRACE_NOTHING)
            trace->events[kept++] = trace->events[i];
    if (kept > 0)
        qsort(trace->events, kept, sizeof *trace->events, by_start);
    return kept;
}

static void add_events(struct json *json, struct trace *trace, const struct trace_job *job)
{
    const size_t there = trace->nevents < trace->room ? trace->nevents : trace->room;
    const size_t n = settle(trace, there);
    unsigned char *rows = malloc(n + 1);

    json_open(json, "traceEvents", '[');
    if (rows) {
        trace_rows(trace->events, n, rows);
        add_names(json, trace->events, rows, n, job);
        for (size_t i = 0; i < n; i++)
            add_event(json, &trace->events[i], rows[i], job);
    }
    json->text->failed |= !rows;
    free(rows);
    json_newline(json, 1);
    json_close(json, ']');
}

/* ---- sums */

static void add_sum(struct json *json, const struct trace_sum *sum)
{
    json_value(json, "calls", "%" PRIu64, sum->calls);
    json_value(json, "bytes", "%" PRIu64, sum->bytes);
    add_time(json, "us", sum->ns);
    json_close(json, '}');
}

static void add_pairs(struct json *json, const struct trace *trace)
{
    const struct trace_sum *sum = trace->pairs;

    json_open(json, "pairs", '[');
    for (int peer = 0; peer <= trace->size; peer++)
        for (int kind = 0; kind < TRACE_COLLECTIVE; kind++)
            for (int path = 0; path < TRACE_PATHS; path++, sum++) {
                if (sum->calls == 0)
                    continue;
                json_newline(json, 2);
                json_open(json, NULL, '{');
                json_string(json, "kind", kinds[kind]);
                add_peer(json, peer < trace->size ? peer : TRACE_NOBODY);
                json_string(json, "path", paths[path]);
                add_sum(json, sum);
            }
    json_close(json, ']');
}

static void add_collectives(struct json *json, const struct trace *trace)
{
    json_open(json, "collectives", '[');
    for (int i = 0; i < TRACE_NAMES && trace->names[i]; i++)
        for (int path = 0; path < TRACE_PATHS; path++) {
            const struct trace_sum *sum = &trace->collectives[i * TRACE_PATHS + path];

            if (sum->calls == 0)
                continue;
            json_newline(json, 2);
            json_open(json, NULL, '{');
            json_string(json, "name", trace->names[i]);
            json_string(json, "path", paths[path]);
            add_sum(json, sum);
        }
    json_close(json, ']');
}

void trace_render(struct trace *trace, const struct trace_job *job, struct text *text)
{
    const size_t n = trace->nevents, dropped = n > trace->room ? n - trace->room : 0;
    struct json json = {.text = text, .spaced = true};

    json_open(&json, NULL, '{');
    json_string(&json, "displayTimeUnit", "ns");
    json_open(&json, "gpubind", '{');
    json_value(&json, "trace", "1"); /* of the layout of this object */
    json_string(&json, "library", libraries[job->whose].name);
    json_string(&json, "version", job->version);
    json_string(&json, "job", job->job);
    json_string(&json, "host", job->host);
    json_value(&json, "rank", "%d", job->rank);
    json_value(&json, "ranks", "%d", trace->size);
    json_value(&json, "started_unix_ns", "%" PRIu64, job->started_unix);
    json_value(&json, "entered_unix_ns", "%" PRIu64,
               job->started_unix - (job->started - job->entered));
    json_value(&json, "ended_unix_ns", "%" PRIu64, job->started_unix + job->ended - job->started);
    json_value(&json, "events", "%zu", n);
    json_value(&json, "dropped", "%zu", dropped);
    add_pairs(&json, trace);
    add_collectives(&json, trace);
    json_close(&json, '}');
    json_newline(&json, 1);
    add_events(&json, trace, job);
    json_close(&json, '}');
    text_add(text, "\n");
}
