/* Describes a box of an array by a contiguous run of elements or a subarray datatype. */
#include "mpi/halo/halo_box.h"

#include <limits.h>
#include <stdbool.h>

/* The box is contiguous: all dimensions inside of the outermost with several layers are whole. */
static bool lies_together(const struct halo_grid *grid, const struct halo_box *box)
{
    bool whole = true;

    for (int d = HALO_DIMS - 1; d >= 0; d--) {
        if (box->extent[d] > 1 && !whole)
            return false;
        whole = whole && box->extent[d] == halo_grid_length(grid, d);
    }
    return true;
}

static int64_t elements_of(const struct halo_box *box)
{
    int64_t elements = 1;

    for (int d = 0; d < HALO_DIMS && elements <= INT_MAX; d++)
        elements *= box->extent[d];
    return elements;
}

int halo_box_buffer(const struct halo_grid *grid, const struct halo_box *box, void *array,
                    MPI_Datatype element, struct halo_buffer *buffer)
{
    const int starts[HALO_DIMS] = {0};
    int lengths[HALO_DIMS], result;
    int64_t first = 0;

    for (int d = 0; d < HALO_DIMS; d++) {
        lengths[d] = halo_grid_length(grid, d);
        first = first * lengths[d] + box->at[d];
    }
    *buffer = (struct halo_buffer){(char *)array + first * grid->nbytes, 1, MPI_DATATYPE_NULL};
    if (lies_together(grid, box) && elements_of(box) <= INT_MAX) {
        buffer->count = (int)elements_of(box);
        buffer->type = element;
        return MPI_SUCCESS;
    }
    result = PMPI_Type_create_subarray(HALO_DIMS, lengths, box->extent, starts, MPI_ORDER_C,
                                       element, &buffer->type);
    return result == MPI_SUCCESS ? PMPI_Type_commit(&buffer->type) : result;
}

void halo_buffer_clear(struct halo_buffer *buffer, MPI_Datatype element)
{
    if (buffer->type != element && buffer->type != MPI_DATATYPE_NULL)
        PMPI_Type_free(&buffer->type);
}
