/* The functions behind the interfaces of gpubind.F90: halos. The first dimension of a Fortran array
 * is contiguous, so that the order of dimensions is reversed. */
#include <limits.h>

#include "mpi/fortran/fortran.h"
#include "mpi/halo/halo.h"

/* Called from Fortran alone. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* gpubind_halo_grid of the module. The lowest bit is the value of a logical. */
struct fortran_halo_grid {
    MPI_Fint ndims, ranks[HALO_DIMS];
    unsigned char periodic[HALO_DIMS];
    MPI_Fint cells[HALO_DIMS], width[HALO_DIMS], pitch;
    unsigned char corners;
    MPI_Fint element, flags;
};

static void turn_round(const struct fortran_halo_grid *from, struct gpubind_halo_grid *grid)
{
    *grid = (struct gpubind_halo_grid){.ndims = from->ndims,
                                       .pitch = from->pitch,
                                       .corners = from->corners & 1,
                                       .element = from->element ? MPI_Type_f2c(from->element)
                                                                : MPI_DATATYPE_NULL,
                                       .flags = from->flags | HALO_FORTRAN};
    for (int d = 0; d < from->ndims && from->ndims <= HALO_DIMS; d++) {
        const int i = from->ndims - 1 - d;

        grid->ranks[d] = from->ranks[i];
        grid->periodic[d] = from->periodic[i] & 1;
        grid->cells[d] = from->cells[i];
        grid->width[d] = from->width[i];
    }
}

GPUBIND_PUBLIC void gpubind_fortran_halo_create(const MPI_Fint *comm,
                                                const struct fortran_halo_grid *grid,
                                                const MPI_Fint *narrays, void *const *arrays,
                                                gpubind_halo *halo, MPI_Fint *ierror)
{
    struct gpubind_halo_grid turned;

    turn_round(grid, &turned);
    tell(ierror, gpubind_halo_create(MPI_Comm_f2c(*comm), &turned, *narrays, arrays, halo));
}

/* With a pitch rows may be apart in memory, but not planes. */
static bool lies_apart(const CFI_cdesc_t *array, const struct fortran_halo_grid *grid)
{
    const CFI_dim_t *dim = array->dim;

    if (grid->pitch == 0 || array->rank == 0)
        return !fortran_contiguous(array);
    return dim[0].sm != (CFI_index_t)array->elem_len ||
           (grid->ndims == 3 && array->rank == 3 && dim[2].sm != dim[1].sm * dim[1].extent);
}

/* Creates a halo of one array, or of those that an array of type(c_ptr) lists. All ranks return an
 * error when an array of one of them is not contiguous. */
GPUBIND_PUBLIC void gpubind_fortran_halo_create_of(const MPI_Fint *comm,
                                                   const struct fortran_halo_grid *grid,
                                                   const CFI_cdesc_t *array, gpubind_halo *halo,
                                                   MPI_Fint *ierror)
{
    const bool list = array->rank == 1 && array->type == CFI_type_cptr;
    struct gpubind_halo_grid turned;
    void *at = address(array);

    turn_round(grid, &turned);
    if (list ? !fortran_contiguous(array) : lies_apart(array, grid))
        turned.flags |= HALO_APART;
    tell(ierror,
         gpubind_halo_create(MPI_Comm_f2c(*comm), &turned, list ? (int)array->dim[0].extent : 1,
                             list ? (void *const *)array->base_addr : &at, halo));
}

/* Array numbers start at 1. */
static int array_of(const MPI_Fint *array)
{
    return *array > INT_MIN ? *array - 1 : *array;
}

GPUBIND_PUBLIC void gpubind_fortran_halo_start(const gpubind_halo *halo, const MPI_Fint *array,
                                               MPI_Fint *ierror)
{
    tell(ierror, gpubind_halo_start(*halo, array_of(array)));
}

GPUBIND_PUBLIC void gpubind_fortran_halo_wait(const gpubind_halo *halo, MPI_Fint *ierror)
{
    tell(ierror, gpubind_halo_wait(*halo));
}

GPUBIND_PUBLIC void gpubind_fortran_halo_exchange_on_stream(const gpubind_halo *halo,
                                                            const MPI_Fint *array,
                                                            const gpubind_stream *stream,
                                                            MPI_Fint *ierror)
{
    tell(ierror, gpubind_halo_exchange_on_stream(*halo, array_of(array), *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_halo_place(const gpubind_halo *halo, MPI_Fint *place,
                                               MPI_Fint *ranks, MPI_Fint *ierror)
{
    int at[HALO_DIMS], along[HALO_DIMS];
    const int result = gpubind_halo_place(*halo, at, along);

    for (int i = 0; result == MPI_SUCCESS && i < (*halo)->grid.ndims; i++) {
        const int d = halo_grid_dim(&(*halo)->grid, i);

        if (place)
            place[i] = at[d];
        if (ranks)
            ranks[i] = along[d];
    }
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_halo_neighbor(const gpubind_halo *halo, const MPI_Fint *offset,
                                                  MPI_Fint *rank, MPI_Fint *ierror)
{
    int turned[HALO_DIMS] = {0};

    for (int i = 0; *halo && i < (*halo)->grid.ndims; i++)
        turned[halo_grid_dim(&(*halo)->grid, i)] = offset[i];
    tell(ierror, gpubind_halo_neighbor(*halo, turned, rank));
}

GPUBIND_PUBLIC void gpubind_fortran_halo_free(gpubind_halo *halo, MPI_Fint *ierror)
{
    tell(ierror, gpubind_halo_free(halo));
}
