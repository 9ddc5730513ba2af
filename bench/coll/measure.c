/* Measures one operation at one size by all methods in turns. */
#include <string.h>

#include "bench/coll/coll.h"
#include "bench/lib/program.h"
#include "bench/lib/ranks.h"
#include "bench/lib/rounds.h"

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

static void once(const void *work, int method)
{
    const struct task *task = work;

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

static void measure(const struct task *task, struct coll_result results[COLL_METHODS])
{
    const struct rounds rounds = {MPI_COMM_WORLD, task->coll->options, once, task};
    struct round_result by[COLL_METHODS];
    int methods[COLL_METHODS], n = 0;

    for (int method = 0; method < COLL_METHODS; method++)
        if (task->coll->use[method])
            methods[n++] = method;
    for (int i = 0; i < n; i++)
        results[methods[i]].wrong = is_wrong(task, (enum coll_method)methods[i]);
    rounds_measure(&rounds, methods, n, by);
    for (int i = 0; i < n; i++) {
        results[methods[i]].iterations = by[i].iterations;
        results[methods[i]].us = by[i].us;
    }
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
