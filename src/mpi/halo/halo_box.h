/* A box of a grid's array as MPI's arguments have it. */
#ifndef GPUBIND_MPI_HALO_HALO_BOX_H
#define GPUBIND_MPI_HALO_HALO_BOX_H

#include <mpi.h>

#include "core/msg/halo_grid.h"

struct halo_buffer {
    void *start; /* of its first element */
    int count;
    MPI_Datatype type; /* made for it, unless it is that of an element */
};

/* An MPI error class. The caller clears. */
int halo_box_buffer(const struct halo_grid *grid, const struct halo_box *box, void *array,
                    MPI_Datatype element, struct halo_buffer *buffer);
void halo_buffer_clear(struct halo_buffer *buffer, MPI_Datatype element);

#endif
