/* The node and GPU of each rank of a communicator. */
#ifndef GPUBIND_MPI_CORE_RANK_MAP_H
#define GPUBIND_MPI_CORE_RANK_MAP_H

#include "mpi/core/comm.h"

struct rank_info {
    char host[64];
    char pci[24]; /* of its GPU; "" when it has none */
    int has_gpu;
    int node, gpu; /* numbers, see gpubind_rank_at; gpu -1: none */
};

struct rank_map {
    int n;
    struct rank_info ranks[];
};

/* Collective over comm the first time. NULL with a sentence on all ranks. */
const struct rank_map *rank_map_of(struct comm *comm, struct gpubind_error *err);
void rank_map_clear(struct rank_map *rank_map);

#endif
