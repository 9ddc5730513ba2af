/* The functions behind the interfaces of gpubind.F90: all but messages. */
#include <stdlib.h>
#include <string.h>

#include "mpi/core/context.h"
#include "mpi/fortran/fortran.h"

/* Called from Fortran alone. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- arguments */

bool fortran_contiguous(const CFI_cdesc_t *buf)
{
    CFI_index_t next = (CFI_index_t)buf->elem_len;

    for (int i = 0; i < buf->rank; i++)
        if (buf->dim[i].extent == 0)
            return true;
    for (int i = 0; i < buf->rank; i++) {
        if (buf->dim[i].extent > 1 && buf->dim[i].sm != next)
            return false;
        next *= buf->dim[i].extent; /* -1 for the last of an assumed-size array */
    }
    return true;
}

bool fortran_refuses(const CFI_cdesc_t *buf, MPI_Comm comm, const char *call, MPI_Fint *ierror)
{
    struct gpubind_error err;

    if (fortran_contiguous(buf))
        return false;
    library_enter(call);
    error_set(&err, "the elements of the array section lie apart in memory: pass a "
                    "contiguous one, or the first element and a derived datatype");
    tell(ierror, library_leave(comm, MPI_ERR_BUFFER, call, &err));
    return true;
}

/* ---- start and end */

GPUBIND_PUBLIC void gpubind_fortran_init(MPI_Fint *ierror)
{
    tell(ierror, gpubind_init());
}

GPUBIND_PUBLIC void gpubind_fortran_finalize(MPI_Fint *ierror)
{
    tell(ierror, gpubind_finalize());
}

GPUBIND_PUBLIC void gpubind_fortran_comm_attach(const MPI_Fint *comm, MPI_Fint *ierror)
{
    tell(ierror, gpubind_comm_attach(MPI_Comm_f2c(*comm)));
}

/* ---- memory */

GPUBIND_PUBLIC void gpubind_fortran_alloc_c(void **buf, const int64_t *nbytes, MPI_Fint *ierror)
{
    *buf = NULL;
    /* A negative size becomes one for which there is no memory. */
    tell(ierror, gpubind_alloc(buf, *nbytes < 0 ? SIZE_MAX : (size_t)*nbytes));
}

GPUBIND_PUBLIC void gpubind_fortran_alloc(void **buf, const MPI_Fint *nbytes, MPI_Fint *ierror)
{
    const int64_t wide = *nbytes;

    gpubind_fortran_alloc_c(buf, &wide, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_free(void *const *buf, MPI_Fint *ierror)
{
    tell(ierror, gpubind_free(*buf));
}

GPUBIND_PUBLIC void gpubind_fortran_release(const CFI_cdesc_t *buf, MPI_Fint *ierror)
{
    tell(ierror, gpubind_release(address(buf)));
}

/* ---- ranks and GPUs */

/* Element (i, j) of the matrix, both from 0. */
static MPI_Fint *element(const CFI_cdesc_t *matrix, int i, int j)
{
    return (MPI_Fint *)((char *)matrix->base_addr + i * matrix->dim[0].sm + j * matrix->dim[1].sm);
}

static void tell_access(const CFI_cdesc_t *access, const struct gpubind_peers *peers)
{
    for (int i = 0; i < peers->n; i++) {
        const char *row = peers->access + (size_t)i * (size_t)peers->n;

        for (int j = 0; j < peers->n; j++)
            *element(access, i, j) = (unsigned char)row[j];
    }
}

static int too_small(MPI_Fint comm, int n)
{
    struct gpubind_error err;

    library_enter("gpubind_enable_peer_access");
    error_set(&err, "the matrix has less than %d rows and columns, one for each rank", n);
    return library_leave(MPI_Comm_f2c(comm), MPI_ERR_ARG, "gpubind_enable_peer_access", &err);
}

GPUBIND_PUBLIC void gpubind_fortran_enable_peer_access(const MPI_Fint *comm,
                                                       const CFI_cdesc_t *access, MPI_Fint *ierror)
{
    struct gpubind_peers peers;
    int result = gpubind_enable_peer_access(MPI_Comm_f2c(*comm), access ? &peers : NULL);

    if (result == MPI_SUCCESS && access) {
        if (access->dim[0].extent < peers.n || access->dim[1].extent < peers.n)
            result = too_small(*comm, peers.n);
        else
            tell_access(access, &peers);
        gpubind_peers_clear(&peers);
    }
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_peers_print(const CFI_cdesc_t *access)
{
    struct gpubind_peers peers = {(int)access->dim[0].extent, NULL};
    size_t n = (size_t)peers.n;

    if (access->dim[0].extent != access->dim[1].extent || n == 0)
        return;
    peers.access = malloc(n * n);
    if (!peers.access)
        return;
    for (int i = 0; i < peers.n; i++)
        for (int j = 0; j < peers.n; j++)
            peers.access[(size_t)i * n + (size_t)j] = (char)*element(access, i, j);
    gpubind_peers_print(&peers, stdout);
    fflush(stdout);
    free(peers.access);
}

GPUBIND_PUBLIC void gpubind_fortran_comm_gpus(const MPI_Fint *comm, MPI_Fint *gpus,
                                              MPI_Fint *ierror)
{
    MPI_Comm made = MPI_COMM_NULL;

    tell(ierror, gpubind_comm_gpus(MPI_Comm_f2c(*comm), &made));
    *gpus = MPI_Comm_c2f(made);
}

/* In all compilers the lowest bit is the value of a logical. */
GPUBIND_PUBLIC void gpubind_fortran_neighbors(const MPI_Fint *comm, const MPI_Fint *periodic,
                                              MPI_Fint *north, MPI_Fint *south, MPI_Fint *ierror)
{
    tell(ierror, gpubind_neighbors(MPI_Comm_f2c(*comm), *periodic & 1, north, south));
}

GPUBIND_PUBLIC void gpubind_fortran_rank_at(const MPI_Fint *comm, const MPI_Fint *node,
                                            const MPI_Fint *gpu, MPI_Fint *rank, MPI_Fint *ierror)
{
    tell(ierror, gpubind_rank_at(MPI_Comm_f2c(*comm), *node, *gpu, rank));
}

/* ---- texts */

GPUBIND_PUBLIC void gpubind_fortran_paths_print(const MPI_Fint *comm, MPI_Fint *ierror)
{
    tell(ierror, gpubind_paths_print(MPI_Comm_f2c(*comm), stdout));
    fflush(stdout);
}

GPUBIND_PUBLIC void gpubind_fortran_error_text(const CFI_cdesc_t *text)
{
    const char *said = gpubind_error_text();
    size_t room = text->elem_len, length = strlen(said);

    memset(text->base_addr, ' ', room);
    memcpy(text->base_addr, said, length < room ? length : room);
}
