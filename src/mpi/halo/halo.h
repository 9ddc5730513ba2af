/* A halo: the messages of a rank to and from its neighbours in a grid, for each array. */
#ifndef GPUBIND_MPI_HALO_HALO_H
#define GPUBIND_MPI_HALO_HALO_H

#include "core/msg/halo_grid.h"
#include "mpi/core/comm.h"
#include "mpi/gpubind.h"

/* Of flags in gpubind_halo_grid, from the Fortran module: see struct halo_grid's base; the
 * array is a section with gaps. */
enum { HALO_FORTRAN = 1 << 30, HALO_APART = 1 << 29 };

struct gpubind_halo_plan {
    MPI_Comm comm; /* the library's, of the grid's ranks */
    struct halo_grid grid; /* of this rank */
    int rank, size;        /* in the grid */
    int *names;            /* ranks of the application's communicator */
    int nneighbors;
    struct halo_neighbor neighbors[HALO_NEIGHBORS];
    gpubind_request *requests; /* of each array: its receives, then its sends */
    int started; /* the array whose exchange is under way; -1: none */
    int turn;    /* the array whose turn it is */
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
