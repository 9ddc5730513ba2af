/* The collectives that are measured: a row each, in the order of OPERATION_WORDS. */
#ifndef GPUBIND_BENCH_COLL_OPERATIONS_H
#define GPUBIND_BENCH_COLL_OPERATIONS_H

#include <mpi.h>
#include <stdbool.h>

#include "bench/lib/nccl.h"
#include "bench/lib/options.h"

#define COLL_ROOT 0

/* A call on MPI_COMM_WORLD. A buffer holds `count` doubles, or a block of as many for each rank. */
struct coll_call {
    int rank, n, count;
    double *send, *recv;
    const int *counts, *offsets; /* of alltoallv: count, and the place of each rank's block */
    MPI_Comm neighbours; /* of MPI_COMM_WORLD's ranks, each of which is everybody's neighbour */
    const struct nccl *nccl;
};

/* Which ranks a buffer of the call matters on. */
enum coll_ranks { COLL_ALL_RANKS, COLL_ROOT_ALONE };

struct coll_operation {
    const char *name;
    const char *mpi_name, *nccl_name; /* for errors */
    /* The message size is the bytes of a block, as one rank has for another, and else of the whole
     * buffer: as in the OSU micro-benchmarks. */
    bool size_is_block;
    bool in_place;                    /* recv is the only buffer; the root's is sent */
    bool sums;                        /* over the ranks; else data are moved */
    bool send_blocks, recv_blocks;    /* a block for each rank; else one alone */
    enum coll_ranks sender, receiver; /* the other buffers are not looked at */
    bool int_offsets;                 /* MPI counts the doubles of the whole buffer in an int */
    /* Return MPI's and NCCL's status. NCCL's calls are queued in nccl->stream. */
    int (*mpi)(const struct coll_call *call);
    int (*nccl)(const struct coll_call *call);
};

extern const struct coll_operation coll_operations[COLL_OPERATIONS];

#endif
