/* The subcommand coll: MPI's collectives, beside NCCL's. */
#ifndef GPUBIND_BENCH_COLL_COLL_H
#define GPUBIND_BENCH_COLL_COLL_H

#include "bench/coll/operations.h"
#include "bench/lib/buffer.h"
#include "bench/lib/stats.h"
#include "bench/output/runner.h"

extern const struct benchmark coll_benchmark;

enum coll_method { COLL_MPI, COLL_NCCL, COLL_METHODS };

struct coll {
    const struct bench_options *options;
    int rank, n;
    struct bench_gpu gpu; /* not opened with --host */
    struct buffer send, recv;
    struct nccl nccl;
    bool use[COLL_METHODS];
    int *counts, *offsets; /* of alltoallv: n each */
    MPI_Comm neighbours;   /* see coll_call; MPI_COMM_NULL: not made */
    uint64_t *seeds;       /* of the contents that each rank sends: n */
    int round;             /* number of the contents, so that none are used twice */
};

/* Of one operation at one size, by one method; valid on rank 0 alone. */
struct coll_result {
    int iterations;
    struct stats us; /* of the slowest rank in each iteration */
    bool wrong;
};

/* Opens the GPU and NCCL, and allocates the buffers. options must be set, neighbours MPI_COMM_NULL, the rest zero. Collective
 * over MPI_COMM_WORLD; returns the same on all ranks: 0, -1 or BENCH_CANNOT. why_no_nccl is "" if
 * NCCL is measured, too. The caller calls coll_clear on failure, too. */
int coll_open(struct coll *coll, struct gpubind_error *why_no_nccl, struct gpubind_error *err);
void coll_clear(struct coll *coll);

/* New contents in what the operation sends, and none of them in what it receives into. */
void contents_write(struct coll *coll, const struct coll_operation *op,
                    const struct coll_call *call);
/* Compares what this rank has received, all bytes of it. */
bool contents_are_right(const struct coll *coll, const struct coll_operation *op,
                        const struct coll_call *call);

/* Checks the result of all methods once, then measures them in turns. Collective over
 * MPI_COMM_WORLD; aborts the job when a call fails. */
void coll_measure(struct coll *coll, const struct coll_operation *op, size_t nbytes,
                  struct coll_result results[COLL_METHODS]);
const char *coll_method_word(enum coll_method method);

#endif
