/* Blocking collective calls that go directly between GPUs, where all ranks pass GPU memory (coll_comm.h).
 * Each has the call's arguments; false: the call goes on through host memory. Otherwise it is done, and
 * *result is an MPI error class. */
#ifndef GPUBIND_AWARE_COLL_DIRECT_H
#define GPUBIND_AWARE_COLL_DIRECT_H

#include "aware/coll/coll_blocks.h"

bool coll_direct_bcast(const struct coll *coll, int *result, void *buf, MPI_Count count,
                       MPI_Datatype type);
/* A block of each rank's, to the root or to all. */
bool coll_direct_gather(const struct coll *coll, int *result, struct coll_blocks send,
                        struct coll_blocks recv);
bool coll_direct_scatter(const struct coll *coll, int *result, struct coll_blocks send,
                         struct coll_blocks recv);
bool coll_direct_alltoall(const struct coll *coll, int *result, struct coll_blocks send,
                          struct coll_blocks recv);
/* By the communicator's topology. */
bool coll_direct_neighbours(const struct coll *coll, int *result, struct coll_blocks send,
                            struct coll_blocks recv);
/* To all, or to the root. */
bool coll_direct_reduce(const struct coll *coll, int *result, const void *send, void *recv,
                        MPI_Count count, MPI_Datatype type, MPI_Op op);
/* count elements for each rank. */
bool coll_direct_reduce_scatter(const struct coll *coll, int *result, const void *send, void *recv,
                                MPI_Count count, MPI_Datatype type, MPI_Op op);

#endif
