/* How intercepted Fortran functions of MPI are defined. */
#ifndef GPUBIND_MPI_FORTRAN_PMPI_FORTRAN_H
#define GPUBIND_MPI_FORTRAN_PMPI_FORTRAN_H

#include "mpi/api/pmpi.h"
#include "mpi/core/comm.h"
#include "mpi/gpubind.h"

/* The next function of this name: MPI's, or that of another library that intercepts it. Else the
 * function by the other name, for the other kind of handles, whose arguments by reference are the
 * same. NULL when the linker has left out MPI's Fortran library, because the program uses nothing
 * of it but what is intercepted here. */
void *intercept_next(const char *name, const char *other);
/* Aborts the job: the function is missing. */
MPI_Fint intercept_lacking(const char *name);

static inline void intercept_gate(const MPI_Fint *comm, bool wholly)
{
    if (comm && comms_announce())
        blocking_announce(MPI_Comm_f2c(*comm), wholly);
}
#define GATE(comm) intercept_gate(comm, false)

/* name, parameters, arguments, code before the call, the call where MPI's Fortran library is
 * missing, code after the call. In mpi_f08 ierror may be absent, a null pointer: result is passed
 * in its place. */
#define STAND_IN(name, other, parameters, arguments, before, in_c, after) \
    GPUBIND_PUBLIC void name parameters;                                  \
    GPUBIND_PUBLIC void name parameters                                   \
    {                                                                     \
        MPI_Fint result = MPI_SUCCESS;                                    \
        static void(*real) parameters;                                    \
                                                                          \
        if (!real)                                                        \
            *(void **)&real = intercept_next(#name, #other);              \
        before;                                                           \
        blocking_nest(1);                                                 \
        if (real)                                                         \
            real arguments;                                               \
        else                                                              \
            result = in_c;                                                \
        blocking_nest(-1);                                                \
        after;                                                            \
        if (ierror)                                                       \
            *ierror = result;                                             \
    }

#define STAND_INS(name, parameters, arguments, before, in_c, after)            \
    STAND_IN(name##_, name##_f08_, parameters, arguments, before, in_c, after) \
    STAND_IN(name##_f08_, name##_, parameters, arguments, before, in_c, after)

#endif
