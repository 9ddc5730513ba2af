/* A halo: persistent requests to and from the neighbours of a rank in a grid, for each array. */
#ifndef GPUBIND_MPI_HALO_HALO_H
#define GPUBIND_MPI_HALO_HALO_H

#include "core/msg/halo_grid.h"
#include "mpi/core/comm.h"
#include "mpi/gpubind.h"

/* Private flags of gpubind_halo_grid, which the Fortran module sets: indices count from 1 (struct
 * halo_grid's base); the array is a section with gaps. */
enum { HALO_FORTRAN = 1 << 30, HALO_APART = 1 << 29 };

struct gpubind_halo_plan {
    MPI_Comm comm;         /* of the grid's ranks, owned by the halo */
    struct halo_grid grid; /* of this rank */
    int rank, size;        /* in the grid */
    int *names;            /* their ranks in the application's communicator */
    int nneighbors;
    struct halo_neighbor neighbors[HALO_NEIGHBORS];
    gpubind_request *requests; /* of each array: its receives, then its sends */
    int started;               /* the array whose exchange is under way; -1: none */
    int turn;                  /* the array of the next exchange, for GPUBIND_HALO_IN_TURN */
};

/* Collective over comm. NULL with MPI_SUCCESS on a rank without a GPU, or with *result and
 * a sentence. */
struct gpubind_halo_plan *halo_make(struct comm *comm, const struct gpubind_halo_grid *grid,
                                    int narrays, void *const arrays[], int *result,
                                    struct gpubind_error *err);
/* Collective over the grid's ranks. */
void halo_clear(struct gpubind_halo_plan *halo);
/* The requests of an array, *n of them. */
gpubind_request *halo_requests(const struct gpubind_halo_plan *halo, int array, int *n);

#endif
