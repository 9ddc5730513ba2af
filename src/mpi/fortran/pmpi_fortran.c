/* Intercepts MPI's Fortran functions, as pmpi.c does those of C. In some MPIs the Fortran functions
 * call PMPI functions, so that those of C are not intercepted; where they are, the library
 * attaches a communicator twice, which does nothing.
 *
 * Names are as gfortran and compatible compilers make them: lower case, one underscore at the
 * end; those of mpi_f08 have _f08 before it, in both Open MPI and MPICH. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/fortran/pmpi_fortran.h"
#include "mpi/gpubind.h"

void *intercept_next(const char *name, const char *other)
{
    void *found = dlsym(RTLD_NEXT, name);

    return found ? found : dlsym(RTLD_NEXT, other);
}

MPI_Fint intercept_lacking(const char *name)
{
    fprintf(stderr,
            "gpubind: %s was called, but MPI's Fortran library is not loaded: link "
            "the program with -Wl,--no-as-needed\n",
            name);
    abort();
}

static void made(const MPI_Fint *comm, MPI_Fint result)
{
    if (result == MPI_SUCCESS)
        gpubind_intercept_made(MPI_Comm_f2c(*comm));
}

static void started(MPI_Fint result)
{
    if (result == MPI_SUCCESS)
        gpubind_intercept_started();
}

#define CONSTRUCTS_OVER(name, over, parameters, arguments)                   \
    STAND_INS(name, parameters, arguments, GATE(over);                       \
              const bool begun = blocking_begin(), intercept_lacking(#name), \
              if (begun) blocking_end();                                     \
              made(comm, result))
#define CONSTRUCTS(name, parameters, arguments) CONSTRUCTS_OVER(name, old, parameters, arguments)

STAND_INS(mpi_init, (MPI_Fint * ierror), (&result), (void)0, PMPI_Init(NULL, NULL), started(result))
STAND_INS(mpi_init_thread, (MPI_Fint * wanted, MPI_Fint *got, MPI_Fint *ierror),
          (wanted, got, &result), (void)0, PMPI_Init_thread(NULL, NULL, *wanted, got),
          started(result))
STAND_INS(mpi_finalize, (MPI_Fint * ierror), (&result), gpubind_intercept_ending(), PMPI_Finalize(),
          (void)0)

CONSTRUCTS(mpi_comm_dup, (void *old, MPI_Fint *comm, MPI_Fint *ierror), (old, comm, &result))
CONSTRUCTS(mpi_comm_dup_with_info, (void *old, void *info, MPI_Fint *comm, MPI_Fint *ierror),
           (old, info, comm, &result))
CONSTRUCTS(mpi_comm_split, (void *old, void *color, void *key, MPI_Fint *comm, MPI_Fint *ierror),
           (old, color, key, comm, &result))
CONSTRUCTS(mpi_comm_split_type,
           (void *old, void *type, void *key, void *info, MPI_Fint *comm, MPI_Fint *ierror),
           (old, type, key, info, comm, &result))
CONSTRUCTS(mpi_comm_create, (void *old, void *group, MPI_Fint *comm, MPI_Fint *ierror),
           (old, group, comm, &result))
CONSTRUCTS_OVER(mpi_comm_create_group, NULL,
                (void *old, void *group, void *tag, MPI_Fint *comm, MPI_Fint *ierror),
                (old, group, tag, comm, &result))
CONSTRUCTS(mpi_cart_create,
           (void *old, void *ndims, void *dims, void *periods, void *reorder, MPI_Fint *comm,
            MPI_Fint *ierror),
           (old, ndims, dims, periods, reorder, comm, &result))
CONSTRUCTS(mpi_cart_sub, (void *old, void *remain, MPI_Fint *comm, MPI_Fint *ierror),
           (old, remain, comm, &result))
CONSTRUCTS(mpi_graph_create,
           (void *old, void *nnodes, void *ends, void *edges, void *reorder, MPI_Fint *comm,
            MPI_Fint *ierror),
           (old, nnodes, ends, edges, reorder, comm, &result))
CONSTRUCTS(mpi_dist_graph_create,
           (void *old, void *n, void *sources, void *degrees, void *destinations, void *weights,
            void *info, void *reorder, MPI_Fint *comm, MPI_Fint *ierror),
           (old, n, sources, degrees, destinations, weights, info, reorder, comm, &result))
CONSTRUCTS(mpi_dist_graph_create_adjacent,
           (void *old, void *nin, void *sources, void *in_weights, void *nout, void *destinations,
            void *out_weights, void *info, void *reorder, MPI_Fint *comm, MPI_Fint *ierror),
           (old, nin, sources, in_weights, nout, destinations, out_weights, info, reorder, comm,
            &result))
CONSTRUCTS_OVER(mpi_intercomm_merge, inter,
                (void *inter, void *high, MPI_Fint *comm, MPI_Fint *ierror),
                (inter, high, comm, &result))
