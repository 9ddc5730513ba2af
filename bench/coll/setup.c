/* Set-up of coll: GPU, buffers, NCCL. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/coll/coll.h"
#include "bench/lib/machine.h"
#include "bench/lib/program.h"
#include "bench/lib/ranks.h"

static int open_gpu(struct coll *coll, struct gpubind_error *err)
{
    const int local = ranks_local();
    struct gpubind_error why;

    if (gpu_open(&coll->gpu, local, &why) == 0)
        return 0;
    return error_set(err, "rank %d: %s (--host measures host memory)", coll->rank, why.text);
}

/* After the GPU is open, since MPI's answer may depend on it. */
static int check_awareness(struct gpubind_error *err)
{
    if (machine_mpi_is_cuda_aware())
        return 0;
    error_set(err,
              "this MPI does not say that it takes GPU memory: gpubind --gpu-aware makes it so "
              "(mpirun -np 4 gpubind --gpu-aware gpubind-bench coll), or --host measures "
              "host memory");
    return BENCH_CANNOT;
}

/* ---- buffers */

static int add_need(const struct coll *coll, const struct coll_operation *op, size_t nbytes,
                    size_t *send, size_t *recv, struct gpubind_error *err)
{
    const size_t blocks = nbytes * (size_t)coll->n;
    const size_t sent = op->in_place ? 0 : op->send_blocks ? blocks : nbytes;
    const size_t received = op->recv_blocks ? blocks : nbytes;

    if (op->int_offsets && blocks / sizeof(double) > INT_MAX)
        return error_set(err,
                         "--sizes: %s of %zu bytes with %d ranks is more than MPI's int counts",
                         op->name, nbytes, coll->n);
    if (sent > *send)
        *send = sent;
    if (received > *recv)
        *recv = received;
    return 0;
}

/* Bytes of coll->send and coll->recv for the whole run. */
static int find_need(const struct coll *coll, size_t *send, size_t *recv, struct gpubind_error *err)
{
    const struct bench_options *options = coll->options;

    *send = *recv = sizeof(double);
    for (int i = 0; i < COLL_OPERATIONS; i++)
        for (int j = 0; j < options->nsizes && options->operations >> i & 1; j++)
            if (add_need(coll, &coll_operations[i], options->sizes[j], send, recv, err) < 0)
                return -1;
    return 0;
}

/* The kernel promises more host memory than there is. local: ranks of the fullest node. */
static int check_host_memory(size_t need, int local, struct gpubind_error *err)
{
    const size_t there = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);

    if (need <= there / (size_t)local)
        return 0;
    return error_set(err, "--sizes: the buffers of a rank need %zu bytes, and %d ranks share %zu",
                     need, local, there);
}

static int alloc(struct coll *coll, int local, struct gpubind_error *err)
{
    const struct bench_gpu *gpu = coll->options->host ? NULL : &coll->gpu;
    struct gpubind_error why;
    size_t send, recv;

    coll->counts = calloc((size_t)coll->n, sizeof *coll->counts);
    coll->offsets = calloc((size_t)coll->n, sizeof *coll->offsets);
    coll->seeds = calloc((size_t)coll->n, sizeof *coll->seeds);
    if (!coll->counts || !coll->offsets || !coll->seeds)
        return error_set(err, "out of memory");
    if (find_need(coll, &send, &recv, err) < 0 ||
        (!gpu && check_host_memory(send + recv, local, err) < 0))
        return -1;
    if (buffer_alloc(&coll->send, gpu, send, &why) < 0 ||
        buffer_alloc(&coll->recv, gpu, recv, &why) < 0)
        return error_set(err, "rank %d: %s (--sizes chooses smaller ones)", coll->rank, why.text);
    return 0;
}

static int alloc_buffers(struct coll *coll, struct gpubind_error *err)
{
    int local = ranks_local() + 1;

    MPI_Allreduce(MPI_IN_PLACE, &local, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return ranks_agree(MPI_COMM_WORLD, alloc(coll, local, err), err);
}

/* ---- all of it */

static void open_nccl(struct coll *coll, struct gpubind_error *why)
{
    why->text[0] = '\0';
    if (coll->options->host)
        error_set(why, "it takes no host memory");
    else if (nccl_open(&coll->nccl, &coll->gpu, why) == 0)
        coll->use[COLL_NCCL] = true;
}

static int make_neighbours(struct coll *coll, struct gpubind_error *err)
{
    int *all = calloc(2 * (size_t)coll->n, sizeof *all), status = -1;
    int *weights = all ? all + coll->n : NULL;

    for (int rank = 0; all && rank < coll->n; rank++) {
        all[rank] = rank;
        weights[rank] = 1;
    }
    if (ranks_agree(MPI_COMM_WORLD, all ? 0 : error_set(err, "out of memory"), err) == 0)
        status = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, coll->n, all, weights, coll->n, all,
                                                weights, MPI_INFO_NULL, 0, &coll->neighbours);
    free(all);
    return status;
}

int coll_open(struct coll *coll, struct gpubind_error *why_no_nccl, struct gpubind_error *err)
{
    int status = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &coll->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &coll->n);
    coll->use[COLL_MPI] = true;
    if (!coll->options->host)
        status = ranks_agree(MPI_COMM_WORLD, open_gpu(coll, err), err);
    if (!status && !coll->options->host)
        status = ranks_agree(MPI_COMM_WORLD, check_awareness(err), err);
    if (!status)
        status = alloc_buffers(coll, err);
    if (!status)
        status = make_neighbours(coll, err);
    if (!status)
        open_nccl(coll, why_no_nccl);
    return status;
}

void coll_clear(struct coll *coll)
{
    nccl_close(&coll->nccl);
    if (coll->neighbours != MPI_COMM_NULL)
        MPI_Comm_free(&coll->neighbours);
    buffer_free(&coll->send);
    buffer_free(&coll->recv);
    gpu_close(&coll->gpu);
    free(coll->counts);
    free(coll->offsets);
    free(coll->seeds);
}
