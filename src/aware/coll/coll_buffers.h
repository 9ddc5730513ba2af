/* The buffers of collective calls, by who reads and writes what. */
#ifndef GPUBIND_AWARE_COLL_BUFFERS_H
#define GPUBIND_AWARE_COLL_BUFFERS_H

#include <limits.h>

#include "aware/base/traced.h"
#include "aware/message/staged.h"

#define NO_ROOT INT_MIN /* no rank, nor MPI_ROOT, nor MPI_PROC_NULL (-1 in MPICH) */

/* Counts or displacements, one for each rank: int, or (wide) MPI_Count or MPI_Aint. */
struct numbers {
    const void *of;
    bool wide;
};

static inline MPI_Count count_at(struct numbers numbers, int i)
{
    return numbers.wide ? ((const MPI_Count *)numbers.of)[i] : ((const int *)numbers.of)[i];
}

static inline MPI_Aint displacement_at(struct numbers numbers, int i)
{
    return numbers.wide ? ((const MPI_Aint *)numbers.of)[i] : ((const int *)numbers.of)[i];
}

/* A call's communicator: who takes part, and what root means here. */
struct coll {
    MPI_Comm comm;
    bool later; /* the call ends after the function has returned */
    int root;   /* or NO_ROOT */
    struct traced *call;
};

/* Each fills two buffers, the second one unused where there is one, and returns an MPI error class:
 * nothing is staged then. */
int coll_bcast(struct staged b[2], const struct coll *coll, void *buf, MPI_Count count,
               MPI_Datatype type);
/* All ranks give and get count elements; with a root it gets them alone. exscan: of rank 0, too,
 * what it has. */
int coll_reduce(struct staged b[2], const struct coll *coll, const void *send, void *recv,
                MPI_Count nsend, MPI_Count nrecv, MPI_Datatype type, bool exscan);
/* Each rank gets its share of the sum: its count, or (counts.of NULL) nrecv elements. */
int coll_reduce_scatter(struct staged b[2], const struct coll *coll, const void *send, void *recv,
                        struct numbers counts, MPI_Count nrecv, MPI_Datatype type);
/* nrecv elements of each rank, in rank order, or at displacements. */
int coll_gather(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                MPI_Datatype send_type, void *recv, MPI_Count nrecv, MPI_Datatype recv_type);
int coll_gatherv(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                 MPI_Datatype send_type, void *recv, struct numbers counts, struct numbers displs,
                 MPI_Datatype recv_type);
int coll_scatter(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                 MPI_Datatype send_type, void *recv, MPI_Count nrecv, MPI_Datatype recv_type);
int coll_scatterv(struct staged b[2], const struct coll *coll, const void *send,
                  struct numbers counts, struct numbers displs, MPI_Datatype send_type, void *recv,
                  MPI_Count nrecv, MPI_Datatype recv_type);
/* neighbours: sends to out, receives from in ranks, by the communicator's topology. */
int coll_alltoall(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                  MPI_Count nsend, MPI_Datatype send_type, void *recv, MPI_Count nrecv,
                  MPI_Datatype recv_type);
int coll_alltoallv(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                   struct numbers send_counts, struct numbers send_displs, MPI_Datatype send_type,
                   void *recv, struct numbers recv_counts, struct numbers recv_displs,
                   MPI_Datatype recv_type);
/* Displacements in bytes. */
int coll_alltoallw(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                   struct numbers send_counts, struct numbers send_displs,
                   const MPI_Datatype *send_types, void *recv, struct numbers recv_counts,
                   struct numbers recv_displs, const MPI_Datatype *recv_types);
int coll_neighbour_gather(struct staged b[2], const struct coll *coll, const void *send,
                          MPI_Count nsend, MPI_Datatype send_type, void *recv, MPI_Count nrecv,
                          MPI_Datatype recv_type);
int coll_neighbour_gatherv(struct staged b[2], const struct coll *coll, const void *send,
                           MPI_Count nsend, MPI_Datatype send_type, void *recv,
                           struct numbers counts, struct numbers displs, MPI_Datatype recv_type);

#endif
