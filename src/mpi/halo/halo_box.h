/* A box of a grid's array as the buffer, count and datatype of a message. */
#ifndef GPUBIND_MPI_HALO_HALO_BOX_H
#define GPUBIND_MPI_HALO_HALO_BOX_H

#include <mpi.h>

#include "core/msg/halo_grid.h"

struct halo_buffer {
    void *start; /* its first element */
    int count;
    MPI_Datatype type; /* of an element, or created for the box */
};

/* An MPI error class. halo_buffer_clear frees the datatype. */
int halo_box_buffer(const struct halo_grid *grid, const struct halo_box *box, void *array,
                    MPI_Datatype element, struct halo_buffer *buffer);
void halo_buffer_clear(struct halo_buffer *buffer, MPI_Datatype element);

#endif
