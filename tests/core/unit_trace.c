/* Traces: sums, rows, the document, many threads, and what an event costs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/trace/trace.h"
#include "tests/tap.h"

static const struct trace_job job = {
    TRACE_LIBGPUBIND_AWARE, "1.0", "node\"1", NULL, 1, 1000, 900, 13000, 5000000000000000001};

static struct trace_event event(int kind, int path, int peer, uint64_t start, uint64_t end)
{
    return (struct trace_event){.start = start,
                                .end = end,
                                .bytes = 100,
                                .name = "MPI_Bcast",
                                .peer = peer,
                                .tag = 7,
                                .kind = (uint8_t)kind,
                                .path = (uint8_t)path};
}

static void record(struct trace *trace, int kind, int path, int peer, uint64_t start, uint64_t end)
{
    const struct trace_event one = event(kind, path, peer, start, end);

    trace_record(trace, &one);
}

static void the_document(void)
{
    static const char wanted[] =
        "{\"displayTimeUnit\": \"ns\", \"gpubind\": {\"trace\": 1, \"library\": \"libgpubind-aware\", "
        "\"version\": \"1.0\", \"job\": null, \"host\": \"node\\\"1\", \"rank\": 1, \"ranks\": 2, \"started_unix_ns\": 5000000000000000001, "
        "\"entered_unix_ns\": 4999999999999999901, \"ended_unix_ns\": 5000000000000012001, "
        "\"events\": 4, \"dropped\": 1, \"pairs\": [\n"
        "  {\"kind\": \"send\", \"peer\": 0, \"path\": \"direct\", \"calls\": 2, \"bytes\": 200, \"us\": 5.000},\n"
        "  {\"kind\": \"receive\", \"peer\": null, \"path\": \"staged\", \"calls\": 1, \"bytes\": 100, "
        "\"us\": 0.501}], \"collectives\": [\n"
        "  {\"name\": \"MPI_Bcast\", \"path\": \"plain\", \"calls\": 1, \"bytes\": 100, \"us\": 1.000}]},\n"
        " \"traceEvents\": [\n"
        " {\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": {\"name\": \"rank 1\"}},\n"
        " {\"name\": \"process_sort_index\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": {\"sort_index\": 1}},\n"
        " {\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 100, \"args\": {\"name\": \"send\"}},\n"
        " {\"name\": \"thread_sort_index\", \"ph\": \"M\", \"pid\": 1, \"tid\": 100, \"args\": {\"sort_index\": 100}},\n"
        " {\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 200, \"args\": {\"name\": \"receive\"}},\n"
        " {\"name\": \"thread_sort_index\", \"ph\": \"M\", \"pid\": 1, \"tid\": 200, \"args\": {\"sort_index\": 200}},\n"
        " {\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 600, \"args\": {\"name\": \"collective\"}},\n"
        " {\"name\": \"thread_sort_index\", \"ph\": \"M\", \"pid\": 1, \"tid\": 600, \"args\": {\"sort_index\": 600}},\n"
        " {\"name\": \"receive, staged\", \"cat\": \"receive\", \"ph\": \"X\", \"pid\": 1, \"tid\": 200, \"ts\": 0.500, "
        "\"dur\": 0.501, \"args\": {\"peer\": null, \"tag\": 7, \"bytes\": 100, \"path\": \"staged\"}},\n"
        " {\"name\": \"send, direct\", \"cat\": \"send\", \"ph\": \"X\", \"pid\": 1, \"tid\": 100, \"ts\": 1.000, "
        "\"dur\": 2.000, \"args\": {\"peer\": 0, \"tag\": 7, \"bytes\": 100, \"path\": \"direct\"}},\n"
        " {\"name\": \"MPI_Bcast, plain\", \"cat\": \"collective\", \"ph\": \"X\", \"pid\": 1, \"tid\": 600, "
        "\"ts\": 4.000, \"dur\": 1.000, \"args\": {\"bytes\": 100, \"path\": \"plain\"}}\n"
        " ]}\n";
    struct trace trace;
    struct text text = {0};

    tap_is_int(trace_init(&trace, 2, 3), 0, "a trace with room for three events");
    record(&trace, TRACE_SEND, TRACE_DIRECT, 0, 2000, 4000);
    record(&trace, TRACE_COLLECTIVE, TRACE_PLAIN, TRACE_NOBODY, 5000, 6000);
    record(&trace, TRACE_RECEIVE, TRACE_STAGED, TRACE_NOBODY, 1500, 2001);
    record(&trace, TRACE_SEND, TRACE_DIRECT, 0, 7000, 10000);
    trace_render(&trace, &job, &text);
    tap_is(text.bytes, wanted, "the document, with the fourth event in the sums alone");
    text_clear(&text);
    trace_free(&trace);
}

/* In a viewer its rows are others than those of the same rank's other library. */
static void of_libgpubind(void)
{
    const struct trace_job other = {
        TRACE_LIBGPUBIND, "1.0", "node", "job", 1, 1000, 1000, 2000, 5000};
    struct trace trace;
    struct text text = {0};

    trace_init(&trace, 2, 3);
    record(&trace, TRACE_SEND, TRACE_DIRECT, 0, 2000, 4000);
    trace_render(&trace, &other, &text);
    tap_ok(strstr(text.bytes, "\"library\": \"libgpubind\"") != NULL &&
               strstr(text.bytes, "\"name\": \"send, libgpubind\"") != NULL &&
               strstr(text.bytes, "\"ph\": \"X\", \"pid\": 1, \"tid\": 1100,") != NULL,
           "libgpubind's part says so");
    text_clear(&text);
    trace_free(&trace);
}

static void rows(void)
{
    const struct trace_event events[] = {
        event(TRACE_SEND, 0, 0, 0, 10),  event(TRACE_SEND, 0, 0, 1, 3),
        event(TRACE_SEND, 0, 0, 2, 30),  event(TRACE_RECEIVE, 0, 0, 2, 30),
        event(TRACE_SEND, 0, 0, 3, 4),   event(TRACE_SEND, 0, 0, 10, 11),
        event(TRACE_SEND, 0, 0, 10, 12), event(TRACE_SEND, 0, 0, 10, 12),
    };
    static const unsigned char wanted[] = {0, 1, 2, 0, 1, 0, 1, 3};
    static struct trace_event many[100];
    unsigned char found[100];

    trace_rows(events, 8, found);
    tap_ok(memcmp(found, wanted, sizeof wanted) == 0, "events of a row do not overlap");
    for (int i = 0; i < 100; i++)
        many[i] = event(TRACE_SEND, 0, 0, 0, 10);
    trace_rows(many, 100, found);
    tap_ok(found[63] == 63 && found[99] == TRACE_ROWS - 1, "there are %d rows", TRACE_ROWS);
}

/* Names from different strings are one function; those above the table's end are not summed. */
static void names(void)
{
    char all[TRACE_NAMES + 10][16], same[] = "name0";
    struct trace_event one = event(TRACE_COLLECTIVE, TRACE_NCCL, TRACE_NOBODY, 0, 1);
    struct trace trace;

    trace_init(&trace, 1, 0);
    for (int i = 0; i < TRACE_NAMES + 10; i++) {
        snprintf(all[i], sizeof all[i], "name%d", i);
        one.name = all[i];
        trace_record(&trace, &one);
    }
    one.name = same;
    trace_record(&trace, &one);
    tap_ok(trace.collectives[TRACE_NCCL].calls == 2 && trace.collectives[TRACE_NCCL].bytes == 200,
           "a function is known by its name");
    tap_ok(trace.collectives[(TRACE_NAMES - 1) * TRACE_PATHS + TRACE_NCCL].calls == 1,
           "and there may be %d", TRACE_NAMES);
    trace_free(&trace);
}

#define THREADS 4
#define EACH 20000

static void *send_many(void *trace)
{
    for (int i = 0; i < EACH; i++)
        record(trace, TRACE_SEND, TRACE_STAGED, i % 3, 1, 2);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    struct trace trace;
    uint64_t calls = 0;
    bool whole = true;

    trace_init(&trace, 2, THREADS * EACH - 5);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, send_many, &trace);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (int peer = 0; peer <= 2; peer++)
        calls +=
            trace.pairs[(peer * TRACE_COLLECTIVE + TRACE_SEND) * TRACE_PATHS + TRACE_STAGED].calls;
    for (size_t i = 0; i < trace.room; i++)
        whole &= trace.events[i].kind == TRACE_SEND && trace.events[i].end == 2;
    tap_is_int((long)calls, THREADS * EACH, "threads lose no event of the sums");
    tap_ok(whole && trace.nevents == THREADS * EACH, "and those that have room are whole");
    trace_free(&trace);
}

static uint64_t now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* For who reads the log. */
static void cost(void)
{
    enum { EVENTS = 1 << 16 };
    struct trace trace;
    uint64_t start, end;

    trace_init(&trace, 8, EVENTS);
    start = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < EVENTS; i++) {
        const uint64_t begun = now(CLOCK_MONOTONIC);

        record(&trace, TRACE_SEND, TRACE_DIRECT, i & 7, begun, now(CLOCK_MONOTONIC));
    }
    end = now(CLOCK_PROCESS_CPUTIME_ID);
    tap_diag("an event takes %.0f ns of the CPU's time, with the times of its start and end",
             (double)(end - start) / EVENTS);
    tap_is_int((long)trace.nevents, EVENTS, "many events");
    trace_free(&trace);
}

int main(void)
{
    the_document();
    of_libgpubind();
    rows();
    names();
    threads();
    cost();
    return tap_done();
}
