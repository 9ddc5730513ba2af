/* Neighbours among the ranks that have a GPU. */
#ifndef GPUBIND_CORE_TOPO_GPU_NEIGHBORS_H
#define GPUBIND_CORE_TOPO_GPU_NEIGHBORS_H

/* ranks: the job's ranks with a GPU, ascending, over all nodes. north is the
 * nearest of them below rank, south the nearest above, -1 where there is none;
 * both are -1 when rank itself is not among them. */
void job_neighbors(const int *ranks, int nranks, int rank, int *north, int *south);

#endif
