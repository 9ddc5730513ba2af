/* Measures one task by all methods in turns, a quarter of the iterations each time. */
#include <string.h>

#include "bench/lib/program.h"
#include "bench/lib/ranks.h"
#include "bench/stream/stream.h"

#define ROUNDS 4
#define MOST 2000
#define LEAST 8
#define PERSISTENT_TAG 8

static const struct {
    const char *word;
    int queued;
    bool ping_pong;
} measures[STREAM_MEASURES] = {
    [STREAM_LATENCY] = {"latency", 50, true},
    [STREAM_WAITED] = {"waited", 1, true},
    [STREAM_EXCHANGE] = {"exchange", 20, false},
    [STREAM_WINDOW] = {"window", 2, false},
};

const char *stream_measure_word(enum stream_measure measure)
{
    return measures[measure].word;
}

#define WINDOW_BYTES ((size_t)1 << 30)

int stream_window(enum stream_measure measure, size_t nbytes)
{
    const int window = nbytes > 65536 ? 16 : 64;

    if (measure != STREAM_WINDOW)
        return 1;
    return nbytes > WINDOW_BYTES / 16 ? (int)(WINDOW_BYTES / nbytes) : window;
}

/* A persistent request is started once, and not several times at once. */
static bool is_measured(const struct stream_task *task, enum stream_method method)
{
    return task->bench->use[method] &&
           !(method == STREAM_PERSISTENT && task->measure == STREAM_WINDOW);
}

/* ---- one turn */

static void ping_pong(const struct stream_task *task, const struct stream_way *way)
{
    if (task->bench->rank == 0)
        way->send(task, 0);
    way->receive(task, 0);
    if (task->bench->rank == 1)
        way->send(task, 0);
}

static void exchange(const struct stream_task *task, const struct stream_way *way)
{
    way->begin(task);
    way->start_receive(task, 0);
    way->start_send(task, 0);
    way->end(task);
}

static void window(const struct stream_task *task, const struct stream_way *way)
{
    struct stream_task reply = *task;

    way->begin(task);
    for (int i = 0; i < task->window; i++)
        if (task->bench->rank == 0)
            way->start_send(task, i);
        else
            way->start_receive(task, i);
    way->end(task);
    if (way == &stream_ways[STREAM_COPY])
        return;
    reply.nbytes = 1;
    if (task->bench->rank == 0)
        way->receive(&reply, 0);
    else
        way->send(&reply, 0);
}

static void turn(const struct stream_task *task, const struct stream_way *way)
{
    if (task->measure == STREAM_WINDOW)
        window(task, way);
    else if (task->measure == STREAM_EXCHANGE)
        exchange(task, way);
    else
        ping_pong(task, way);
}

static void wait_for_stream(const struct stream_task *task)
{
    struct gpubind_error err;

    if (gpu_check(gpu_stream_synchronize(task->bench->gpu.stream[0]), "the stream failed", &err) <
        0)
        ranks_die("%s", err.text);
}

/* Some turns and the wait for them. Returns the seconds of one. */
static double iteration(const struct stream_task *task, const struct stream_way *way)
{
    double from;

    MPI_Barrier(task->bench->pair);
    from = seconds_now();
    for (int i = 0; i < task->queued; i++)
        turn(task, way);
    wait_for_stream(task);
    return (seconds_now() - from) / task->queued;
}

/* ---- data */

/* Rank 1 receives in each measure, rank 0 in those that go both ways. */
static bool is_wrong(const struct stream_task *task, enum stream_method method)
{
    struct stream_bench *bench = task->bench;
    const int slots = task->window, round = ++bench->round;
    const bool one_way = task->measure == STREAM_WINDOW ||
                         (method == STREAM_COPY && task->measure != STREAM_EXCHANGE);
    struct gpubind_error err;
    int wrong = 0;

    for (int i = 0; i < slots; i++)
        if (buffer_fill(&bench->out, (size_t)i * task->nbytes, task->nbytes,
                        pattern_seed(round, bench->rank, i), &err) < 0)
            ranks_die("%s", err.text);
    MPI_Barrier(bench->pair);
    turn(task, &stream_ways[method]);
    wait_for_stream(task);
    MPI_Barrier(bench->pair);
    for (int i = 0; i < slots && wrong == 0 && !(one_way && bench->rank == 0); i++)
        wrong = buffer_check(&bench->in, (size_t)i * task->nbytes, task->nbytes,
                             pattern_seed(round, bench->other, i), &err);
    if (wrong < 0)
        ranks_die("%s", err.text);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, bench->pair);
    return wrong;
}

/* ---- times */

struct run {
    enum stream_method method;
    int iterations; /* of all rounds, the same on both ranks */
    struct samples samples;
};

static double unmeasured(const struct stream_task *task, const struct run *run)
{
    return iteration(task, &stream_ways[run->method]);
}

static void calibrate(const struct stream_task *task, struct run *run)
{
    const struct bench_options *options = task->bench->options;
    double took = unmeasured(task, run), fit;
    int n = options->iterations;

    took = unmeasured(task, run);
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, task->bench->pair);
    fit = 1e-3 * options->time_ms / (took * task->queued);
    if (!n)
        n = fit > MOST ? MOST : fit < LEAST ? LEAST : (int)fit;
    run->iterations = n;
    for (int i = 0; i < options->warmup && i < n; i++)
        unmeasured(task, run);
    if (samples_reserve(&run->samples, (size_t)n) < 0)
        ranks_die("out of memory");
}

/* Of a ping-pong half a turn is shown; a bare copy in it goes one way alone. */
static void finish(const struct stream_task *task, struct run *run, struct stream_result *result)
{
    struct samples *samples = &run->samples;
    const bool root = task->bench->rank == 0;
    const bool is_half = measures[task->measure].ping_pong && run->method != STREAM_COPY;

    MPI_Reduce(root ? MPI_IN_PLACE : samples->values, samples->values, (int)samples->n, MPI_DOUBLE,
               MPI_MAX, 0, task->bench->pair);
    for (size_t i = 0; i < samples->n && is_half; i++)
        samples->values[i] /= 2;
    result->queued = task->queued;
    result->iterations = run->iterations;
    result->us = samples_stats(samples);
    samples_clear(samples);
}

static void measure(const struct stream_task *task, struct stream_result results[STREAM_METHODS])
{
    struct run runs[STREAM_METHODS];
    int nruns = 0;

    memset(runs, 0, sizeof runs);
    for (int method = 0; method < STREAM_METHODS; method++)
        if (results[method].measured)
            runs[nruns++].method = (enum stream_method)method;
    for (int i = 0; i < nruns; i++)
        results[runs[i].method].wrong = is_wrong(task, runs[i].method);
    for (int i = 0; i < nruns; i++)
        calibrate(task, &runs[i]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < nruns; i++) {
            const int n = runs[i].iterations;

            unmeasured(task, &runs[i]);
            for (int j = n * round / ROUNDS; j < n * (round + 1) / ROUNDS; j++)
                samples_add(&runs[i].samples, unmeasured(task, &runs[i]));
        }
    for (int i = 0; i < nruns; i++)
        finish(task, &runs[i], &results[runs[i].method]);
}

static void check(int status, const char *call)
{
    if (status != MPI_SUCCESS)
        ranks_die("%s: %s", call, gpubind_error_text());
}

static void make_requests(struct stream_task *task)
{
    const struct stream_bench *bench = task->bench;

    check(gpubind_send_init(bench->out.at, (int)task->nbytes, MPI_BYTE, bench->other,
                            PERSISTENT_TAG, MPI_COMM_WORLD, &task->requests[0]),
          "gpubind_send_init");
    check(gpubind_recv_init(bench->in.at, (int)task->nbytes, MPI_BYTE, bench->other, PERSISTENT_TAG,
                            MPI_COMM_WORLD, &task->requests[1]),
          "gpubind_recv_init");
}

void stream_task_run(struct stream_bench *bench, enum stream_measure what, size_t nbytes,
                     struct stream_result results[STREAM_METHODS])
{
    struct stream_task task = {.bench = bench,
                               .measure = what,
                               .nbytes = nbytes,
                               .window = stream_window(what, nbytes),
                               .queued = measures[what].queued};

    memset(results, 0, STREAM_METHODS * sizeof *results);
    for (int method = 0; method < STREAM_METHODS; method++)
        results[method].measured = is_measured(&task, (enum stream_method)method);
    if (results[STREAM_PERSISTENT].measured)
        make_requests(&task);
    measure(&task, results);
    for (int i = 0; i < 2 && results[STREAM_PERSISTENT].measured; i++)
        check(gpubind_request_free(&task.requests[i]), "gpubind_request_free");
}
