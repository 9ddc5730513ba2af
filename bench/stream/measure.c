/* Measures one task by all methods in turns. */
#include <string.h>

#include "bench/lib/ranks.h"
#include "bench/lib/rounds.h"
#include "bench/stream/stream.h"

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
           !(stream_is_persistent(method) && task->measure == STREAM_WINDOW) &&
           !(stream_ways[method].captured && task->nbytes == 0);
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

static void check_driver(int status, const char *call)
{
    struct gpubind_error err;

    if (gpu_check(status, call, &err) < 0)
        ranks_die("%s", err.text);
}

static void wait_for_stream(const struct stream_task *task)
{
    check_driver(gpu_stream_synchronize(task->bench->gpu.stream[0]), "the stream failed");
}

static void put_turns(const struct stream_task *task, int method)
{
    for (int i = 0; i < task->queued; i++)
        turn(task, &stream_ways[method]);
}

/* Some turns and the wait for them. */
static void once(const void *work, int method)
{
    const struct stream_task *task = work;

    if (task->graphs[method])
        check_driver(gpu_graph_launch(task->graphs[method], task->bench->gpu.stream[0]),
                     "cuGraphLaunch");
    else
        put_turns(task, method);
    wait_for_stream(task);
}

static gpu_graph_exec capture(const struct stream_task *task, int method)
{
    const gpu_stream stream = task->bench->gpu.stream[0];
    gpu_graph_exec exec;
    gpu_graph graph;

    check_driver(gpu_capture_begin(stream, GPU_CAPTURE_RELAXED), "cuStreamBeginCapture");
    put_turns(task, method);
    check_driver(gpu_capture_end(stream, &graph), "cuStreamEndCapture");
    check_driver(gpu_graph_instantiate(&exec, graph, 0), "cuGraphInstantiate");
    gpu_graph_destroy(graph);
    return exec;
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
    if (task->graphs[method]) {
        once(task, method);
    } else {
        turn(task, &stream_ways[method]);
        wait_for_stream(task);
    }
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

/* Of an iteration, as of a turn, and half of it for a ping-pong; a bare copy in that goes one way alone. */
static struct stats of_turn(const struct stream_task *task, int method, struct stats us)
{
    const bool is_half = measures[task->measure].ping_pong && method != STREAM_COPY;
    const double turns = task->queued * (is_half ? 2.0 : 1.0);

    return (struct stats){us.median / turns, us.min / turns, us.p99 / turns};
}

static void measure(struct stream_task *task, struct stream_result results[STREAM_METHODS])
{
    const struct rounds rounds = {task->bench->pair, task->bench->options, once, task};
    struct round_result by[STREAM_METHODS];
    int methods[STREAM_METHODS], n = 0;

    for (int method = 0; method < STREAM_METHODS; method++)
        if (results[method].measured)
            methods[n++] = method;
    for (int i = 0; i < n; i++) { /* persistent requests, started before, can be captured */
        if (stream_ways[methods[i]].captured)
            task->graphs[methods[i]] = capture(task, methods[i]);
        results[methods[i]].wrong = is_wrong(task, (enum stream_method)methods[i]);
    }
    rounds_measure(&rounds, methods, n, by);
    for (int i = 0; i < n; i++) {
        results[methods[i]].queued = task->queued;
        results[methods[i]].iterations = by[i].iterations;
        results[methods[i]].us = of_turn(task, methods[i], by[i].us);
        if (task->graphs[methods[i]])
            gpu_graph_exec_destroy(task->graphs[methods[i]]);
    }
}

static void make_requests(struct stream_task *task)
{
    const struct stream_bench *bench = task->bench;

    ranks_need(gpubind_send_init(bench->out.at, (int)task->nbytes, MPI_BYTE, bench->other,
                                 PERSISTENT_TAG, MPI_COMM_WORLD, &task->requests[0]));
    ranks_need(gpubind_recv_init(bench->in.at, (int)task->nbytes, MPI_BYTE, bench->other,
                                 PERSISTENT_TAG, MPI_COMM_WORLD, &task->requests[1]));
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
        ranks_need(gpubind_request_free(&task.requests[i]));
}
