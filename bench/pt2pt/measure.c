/* Measures the methods of a task in turns, and merges the samples of all ranks. */
#include <stdlib.h>
#include <string.h>

#include "bench/pt2pt/task.h"

#define ROUNDS 4
#define MOST 2000
#define LEAST 8

/* One method's part of a task. */
struct turn {
    enum method method;
    int iterations; /* of all rounds */
    int next;       /* iteration: buffers rotate through all rounds */
    struct samples samples;
};

static bool once(struct pt2pt *pt2pt, const struct task *task, enum method method, int iteration)
{
    if (method == METHOD_COPY)
        return copy_once(pt2pt, task, iteration);
    return message_once(pt2pt, method == METHOD_GPUBIND ? &api_gpubind : &api_mpi, task, iteration);
}

/* A ping-pong goes both ways. So does a copy from a GPU to the host and back, unless it stands for
 * one way between two GPUs. */
static double scale(const struct pt2pt *pt2pt, const struct task *task, enum method method)
{
    if (task->measure != MEASURE_LATENCY)
        return 1;
    return method == METHOD_COPY && pt2pt->options->buffers == BUFFERS_DD ? 1 : 0.5;
}

static void run(struct pt2pt *pt2pt, const struct task *task, struct turn *turn, int n)
{
    double factor = scale(pt2pt, task, turn->method);

    for (int i = 0; i < n; i++) {
        double from = seconds_now();

        if (once(pt2pt, task, turn->method, turn->next++))
            samples_add(&turn->samples, factor * (seconds_now() - from));
    }
}

static void warm_up(struct pt2pt *pt2pt, const struct task *task, struct turn *turn, int n)
{
    for (int i = 0; i < n; i++)
        once(pt2pt, task, turn->method, i);
}

/* The number of iterations that fit into --time, the same on all ranks: as many as
 * the slowest of them allows. */
static void calibrate(struct pt2pt *pt2pt, const struct task *task, struct turn *turn)
{
    const struct bench_options *options = pt2pt->options;
    double took = 0, fit;
    int n = options->iterations, warmup = options->warmup;

    MPI_Barrier(pt2pt->ranks.working);
    warm_up(pt2pt, task, turn, 1);
    MPI_Barrier(pt2pt->ranks.working);
    /* The best of three, so that one delayed iteration does not count. */
    for (int i = 0; i < 3; i++) {
        double from = seconds_now(), now;

        warm_up(pt2pt, task, turn, 1);
        now = seconds_now();
        if (i == 0 || now - from < took)
            took = now - from;
    }
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, pt2pt->ranks.working);
    fit = 1e-3 * options->time_ms / took;
    if (!n)
        n = fit > MOST ? MOST : fit < LEAST ? LEAST : (int)fit;
    turn->iterations = n;
    warm_up(pt2pt, task, turn, warmup < n ? warmup : n);
    if (samples_reserve(&turn->samples, (size_t)n) < 0)
        ranks_die("out of memory");
}

/* ---- samples of all ranks */

struct sample {
    int pair;
    struct stats us;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Merges ranks of a pair, and pairs: the slowest counts. Without samples the median is 0. */
static void merge(struct stats *to, const struct stats *from)
{
    if (!from->median)
        return;
    to->min = to->median ? (from->min < to->min ? from->min : to->min) : from->min;
    to->median = larger(to->median, from->median);
    to->p99 = larger(to->p99, from->p99);
}

static void merge_pairs(const struct sample *samples, int npairs, double messages, size_t nbytes,
                        struct method_result *result)
{
    for (int pair = 0; pair < npairs; pair++) {
        struct stats us = {0, 0, 0};

        for (int i = 0; i < 2 * npairs; i++)
            if (samples[i].pair == pair)
                merge(&us, &samples[i].us);
        merge(&result->us, &us);
        if (us.median)
            result->messages_per_s += 1e6 * messages / us.median;
    }
    result->bytes_per_s = result->messages_per_s * (double)nbytes;
    result->measured = true;
}

void gather_samples(struct pt2pt *pt2pt, struct samples *samples, double messages, size_t nbytes,
                    struct method_result *result)
{
    int npairs = pt2pt->ranks.npairs;
    struct sample mine, *all = calloc((size_t)npairs, 2 * sizeof *all);

    if (!all)
        ranks_die("out of memory");
    memset(&mine, 0, sizeof mine);
    mine.pair = pt2pt->ranks.pair;
    mine.us = samples_stats(samples);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, pt2pt->ranks.working);
    if (pt2pt->ranks.rank == 0)
        merge_pairs(all, npairs, messages, nbytes, result);
    free(all);
}

/* Sends new contents once more, so that stale data would be noticed. */
static void check_contents(struct pt2pt *pt2pt, const struct task *task, enum method method,
                           struct method_result *result)
{
    if (method == METHOD_COPY)
        return;
    fill_slots(pt2pt, task, task->window * task->nsets);
    MPI_Barrier(pt2pt->ranks.working);
    for (int i = 0; i < task->nsets; i++)
        once(pt2pt, task, method, i);
    result->checked = true;
    result->wrong = !check_slots(pt2pt, task, task->window * task->nsets);
}

static void end_turn(struct pt2pt *pt2pt, const struct task *task, struct turn *turn,
                     struct method_result *result)
{
    double messages = task->window * (task->measure == MEASURE_BIDIRECTIONAL ? 2 : 1);

    check_contents(pt2pt, task, turn->method, result);
    result->iterations = turn->iterations;
    gather_samples(pt2pt, &turn->samples, messages, task->nbytes, result);
    samples_clear(&turn->samples);
}

void task_run(struct pt2pt *pt2pt, const struct task *task, struct result *result)
{
    struct turn turns[METHODS];
    int nturns = 0;

    memset(turns, 0, sizeof turns);
    memset(result, 0, sizeof *result);
    result->measure = task->measure;
    result->nbytes = task->nbytes;
    result->window = task->window;
    for (int method = 0; method < METHODS; method++)
        if (pt2pt->use[method])
            turns[nturns++].method = (enum method)method;
    fill_slots(pt2pt, task, task->window * task->nsets);
    for (int i = 0; i < nturns; i++)
        calibrate(pt2pt, task, &turns[i]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < nturns; i++) {
            int n = turns[i].iterations;

            MPI_Barrier(pt2pt->ranks.working);
            warm_up(pt2pt, task, &turns[i], 2);
            run(pt2pt, task, &turns[i], n * (round + 1) / ROUNDS - n * round / ROUNDS);
        }
    for (int i = 0; i < nturns; i++)
        end_turn(pt2pt, task, &turns[i], &result->by[turns[i].method]);
}
