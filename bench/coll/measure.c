/* Measures one operation at one size by all methods in turns. */
#include <string.h>

#include "bench/coll/coll.h"
#include "bench/lib/program.h"
#include "bench/lib/ranks.h"

#define ROUNDS 4
#define MOST 2000
#define LEAST 8

/* One method's part. */
struct turn {
    enum coll_method method;
    int iterations; /* of all rounds, the same on all ranks */
    struct samples samples;
};

/* One operation at one size. */
struct task {
    struct coll *coll;
    const struct coll_operation *op;
    struct coll_call call;
    struct text size; /* "64K" */
};

const char *coll_method_word(enum coll_method method)
{
    static const char *const words[] = {"mpi", "nccl"};

    return words[method];
}

static void fail(const struct task *task, const char *call, const char *text)
{
    ranks_die("%s of %s: %s: %s", task->op->name, task->size.bytes, call, text);
}

static void call_mpi(const struct task *task)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, status = task->op->mpi(&task->call);

    if (status == MPI_SUCCESS)
        return;
    MPI_Error_string(status, text, &length);
    fail(task, task->op->mpi_name, text);
}

/* Queues the operation and waits for its stream. */
static void call_nccl(const struct task *task)
{
    const struct nccl *nccl = task->call.nccl;
    struct gpubind_error err;
    int status = task->op->nccl(&task->call);

    if (status != NCCL_OK)
        fail(task, task->op->nccl_name, nccl->error_string(status));
    if (gpu_check(gpu_stream_synchronize(nccl->stream), "its stream failed", &err) < 0)
        fail(task, task->op->nccl_name, err.text);
}

static void once(const struct task *task, enum coll_method method)
{
    if (method == COLL_MPI)
        call_mpi(task);
    else
        call_nccl(task);
}

/* Says on rank 0 which rank, the lowest of them, has received wrong data. */
static bool is_wrong(const struct task *task, enum coll_method method)
{
    struct coll *coll = task->coll;
    struct gpubind_error err;
    int lowest, mine;

    contents_write(coll, task->op, &task->call);
    MPI_Barrier(MPI_COMM_WORLD);
    once(task, method);
    mine = contents_are_right(coll, task->op, &task->call) ? coll->n : coll->rank;
    MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest < coll->n && coll->rank == 0) {
        error_set(&err, "%s of %s by %s: rank %d received wrong data", task->op->name,
                  task->size.bytes, coll_method_word(method), lowest);
        bench_fail(&err);
    }
    return lowest < coll->n;
}

/* ---- times */

static void run(const struct task *task, struct turn *turn, int n)
{
    for (int i = 0; i < n; i++) {
        double from;

        MPI_Barrier(MPI_COMM_WORLD);
        from = seconds_now();
        once(task, turn->method);
        samples_add(&turn->samples, seconds_now() - from);
    }
}

static double run_unmeasured(const struct task *task, const struct turn *turn)
{
    double from;

    MPI_Barrier(MPI_COMM_WORLD);
    from = seconds_now();
    once(task, turn->method);
    return seconds_now() - from;
}

/* The number of iterations that fit into --time on the slowest rank, and the warming up. */
static void calibrate(const struct task *task, struct turn *turn)
{
    const struct bench_options *options = task->coll->options;
    double took = 0, fit;
    int n = options->iterations, warmup = options->warmup;

    run_unmeasured(task, turn);
    /* The best of three, so that one delayed iteration does not count. */
    for (int i = 0; i < 3; i++) {
        double now = run_unmeasured(task, turn);

        if (i == 0 || now < took)
            took = now;
    }
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    fit = 1e-3 * options->time_ms / took;
    if (!n)
        n = fit > MOST ? MOST : fit < LEAST ? LEAST : (int)fit;
    turn->iterations = n;
    for (int i = 0; i < (warmup < n ? warmup : n); i++)
        run_unmeasured(task, turn);
    if (samples_reserve(&turn->samples, (size_t)n) < 0)
        ranks_die("out of memory");
}

/* In each iteration the slowest rank counts. */
static void end_turn(const struct task *task, struct turn *turn, struct coll_result *result)
{
    struct samples *samples = &turn->samples;
    const bool root = task->coll->rank == 0;

    MPI_Reduce(root ? MPI_IN_PLACE : samples->values, samples->values, (int)samples->n, MPI_DOUBLE,
               MPI_MAX, 0, MPI_COMM_WORLD);
    result->iterations = turn->iterations;
    result->us = samples_stats(samples);
    samples_clear(samples);
}

static void measure(const struct task *task, struct coll_result results[COLL_METHODS])
{
    struct turn turns[COLL_METHODS];
    int nturns = 0;

    memset(turns, 0, sizeof turns);
    for (int method = 0; method < COLL_METHODS; method++)
        if (task->coll->use[method])
            turns[nturns++].method = (enum coll_method)method;
    for (int i = 0; i < nturns; i++)
        results[turns[i].method].wrong = is_wrong(task, turns[i].method);
    for (int i = 0; i < nturns; i++)
        calibrate(task, &turns[i]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < nturns; i++) {
            int n = turns[i].iterations;

            run_unmeasured(task, &turns[i]);
            run(task, &turns[i], n * (round + 1) / ROUNDS - n * round / ROUNDS);
        }
    for (int i = 0; i < nturns; i++)
        end_turn(task, &turns[i], &results[turns[i].method]);
}

void coll_measure(struct coll *coll, const struct coll_operation *op, size_t nbytes,
                  struct coll_result results[COLL_METHODS])
{
    struct task task = {.coll = coll, .op = op};

    task.call = (struct coll_call){.rank = coll->rank,
                                   .n = coll->n,
                                   .count = (int)(nbytes / sizeof(double)),
                                   .send = (double *)(void *)coll->send.at,
                                   .recv = (double *)(void *)coll->recv.at,
                                   .counts = coll->counts,
                                   .offsets = coll->offsets,
                                   .neighbours = coll->neighbours,
                                   .nccl = &coll->nccl};
    for (int rank = 0; rank < coll->n && op->int_offsets; rank++) {
        coll->counts[rank] = task.call.count;
        coll->offsets[rank] = rank * task.call.count;
    }
    text_add_size(&task.size, nbytes);
    memset(results, 0, COLL_METHODS * sizeof *results);
    measure(&task, results);
    text_clear(&task.size);
}
