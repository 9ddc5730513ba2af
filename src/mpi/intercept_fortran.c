/* Stands in for MPI's Fortran entry points as intercept.c does for those of C. Some
 * MPIs' Fortran calls PMPI_ functions, so that the ones of C are not passed through;
 * where they are, the library hears of a communicator twice, which does no harm.
 *
 * Names are those of gfortran and its like: lower case, one underscore at the end;
 * those of mpi_f08 have _f08 before it, in Open MPI and MPICH alike. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/gpubind.h"
#include "mpi/intercept.h"

/* The next function of this name: MPI's, or another library's that stands before it.
 * The other name is that of the other kind of handles; what comes by reference looks
 * alike. NULL when the linker has left out MPI's Fortran library, because the program
 * takes nothing from it but what is here. */
static void *next(const char *name, const char *other)
{
    void *found = dlsym(RTLD_NEXT, name);

    return found ? found : dlsym(RTLD_NEXT, other);
}

static MPI_Fint lacking(const char *name)
{
    fprintf(stderr, "gpubind: %s was called, but MPI's Fortran library is not loaded: link "
                    "the program with -Wl,--no-as-needed\n", name);
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

/* name, parameters, arguments, what comes before the call, what is called where there is
 * no MPI for Fortran, what comes after. In mpi_f08 ierror may be absent, a null pointer:
 * result is handed on in its place. */
#define STAND_IN(name, other, parameters, arguments, before, in_c, after) \
    GPUBIND_PUBLIC void name parameters;                                  \
    GPUBIND_PUBLIC void name parameters                                   \
    {                                                                     \
        MPI_Fint result = MPI_SUCCESS;                                    \
        void(*real) parameters;                                           \
                                                                          \
        *(void **)&real = next(#name, #other);                            \
        before;                                                           \
        if (real)                                                         \
            real arguments;                                               \
        else                                                              \
            result = in_c;                                                \
        after;                                                            \
        if (ierror)                                                       \
            *ierror = result;                                             \
    }

#define STAND_INS(name, parameters, arguments, before, in_c, after)                    \
    STAND_IN(name##_, name##_f08_, parameters, arguments, before, in_c, after)         \
    STAND_IN(name##_f08_, name##_, parameters, arguments, before, in_c, after)

#define CONSTRUCTS(name, parameters, arguments) \
    STAND_INS(name, parameters, arguments, (void)0, lacking(#name), made(comm, result))

STAND_INS(mpi_init, (MPI_Fint *ierror), (&result), (void)0, PMPI_Init(NULL, NULL),
          started(result))
STAND_INS(mpi_init_thread, (MPI_Fint *wanted, MPI_Fint *got, MPI_Fint *ierror),
          (wanted, got, &result), (void)0, PMPI_Init_thread(NULL, NULL, *wanted, got),
          started(result))
STAND_INS(mpi_finalize, (MPI_Fint *ierror), (&result), gpubind_intercept_ending(),
          PMPI_Finalize(), (void)0)

CONSTRUCTS(mpi_comm_dup, (void *old, MPI_Fint *comm, MPI_Fint *ierror), (old, comm, &result))
CONSTRUCTS(mpi_comm_dup_with_info, (void *old, void *info, MPI_Fint *comm, MPI_Fint *ierror),
            (old, info, comm, &result))
CONSTRUCTS(mpi_comm_split,
            (void *old, void *color, void *key, MPI_Fint *comm, MPI_Fint *ierror),
            (old, color, key, comm, &result))
CONSTRUCTS(mpi_comm_split_type,
            (void *old, void *type, void *key, void *info, MPI_Fint *comm, MPI_Fint *ierror),
            (old, type, key, info, comm, &result))
CONSTRUCTS(mpi_comm_create, (void *old, void *group, MPI_Fint *comm, MPI_Fint *ierror),
            (old, group, comm, &result))
CONSTRUCTS(mpi_comm_create_group,
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
            (void *old, void *n, void *sources, void *degrees, void *destinations,
             void *weights, void *info, void *reorder, MPI_Fint *comm, MPI_Fint *ierror),
            (old, n, sources, degrees, destinations, weights, info, reorder, comm, &result))
CONSTRUCTS(mpi_dist_graph_create_adjacent,
            (void *old, void *nin, void *sources, void *in_weights, void *nout,
             void *destinations, void *out_weights, void *info, void *reorder, MPI_Fint *comm,
             MPI_Fint *ierror),
            (old, nin, sources, in_weights, nout, destinations, out_weights, info, reorder,
             comm, &result))
CONSTRUCTS(mpi_intercomm_merge, (void *inter, void *high, MPI_Fint *comm, MPI_Fint *ierror),
            (inter, high, comm, &result))
