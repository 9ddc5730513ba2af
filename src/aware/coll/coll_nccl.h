/* Reductions by NCCL, which is opened at run time where it is there: libnccl.so.2. */
#ifndef GPUBIND_AWARE_COLL_NCCL_H
#define GPUBIND_AWARE_COLL_NCCL_H

#include <mpi.h>
#include <stdbool.h>

#include "aware/coll/coll_comm.h"

struct nccl_reduction {
    enum { NCCL_ALLREDUCE, NCCL_REDUCE, NCCL_REDUCE_SCATTER } kind;
    const void *send;
    void *recv;
    MPI_Count count; /* of a reduce-scatter: what each rank gets */
    MPI_Datatype type;
    MPI_Op op;
    int root; /* of a reduction to one rank */
};

/* NCCL is there, and knows the type and the operation. */
bool nccl_knows(MPI_Datatype type, MPI_Op op);
/* NCCL's communicator of the communicator's ranks and the GPU that gpu lies on. Collective: all ranks get one,
 * or comm->nccl_failed is set on all, with a sentence of the rank that knows why. */
void nccl_start(struct coll_comm *comm, const void *gpu);
/* Both lie on one GPU (recv may be NULL), for which it is started, if it is. */
bool nccl_takes(const struct coll_comm *comm, const void *send, const void *recv);
/* To stand around the agreement on a reduction and the reduction. Of two at once in a process, each might wait on its
 * GPU for the other rank's that is queued behind the other one. false: another thread is there. */
bool nccl_turn_take(void);
void nccl_turn_give(void);
/* An MPI error class; a sentence on stderr has said more. */
int nccl_reduce(struct coll_comm *comm, const struct nccl_reduction *reduction);
/* nccl may be NULL. */
void nccl_close(struct coll_nccl *nccl);

#endif
