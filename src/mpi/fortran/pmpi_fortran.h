/* What stand-ins for MPI's Fortran entry points are made of. */
#ifndef GPUBIND_MPI_FORTRAN_PMPI_FORTRAN_H
#define GPUBIND_MPI_FORTRAN_PMPI_FORTRAN_H

#include "mpi/api/pmpi.h"
#include "mpi/core/comm.h"
#include "mpi/gpubind.h"

/* The next function of this name: MPI's, or another library's that stands before it.
 * The other name is that of the other kind of handles; what comes by reference looks
 * alike. NULL when the linker has left out MPI's Fortran library, because the program
 * takes nothing from it but what is here. */
void *intercept_next(const char *name, const char *other);
/* Ends the job for want of that function. */
MPI_Fint intercept_lacking(const char *name);

static inline void intercept_gate(const MPI_Fint *comm, bool wholly)
{
    if (comm && comms_announce())
        blocking_announce(MPI_Comm_f2c(*comm), wholly);
}
#define GATE(comm) intercept_gate(comm, false)

/* name, parameters, arguments, what comes before the call, what is called where there is
 * no MPI for Fortran, what comes after. In mpi_f08 ierror may be absent, a null pointer:
 * result is handed on in its place. */
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

#define STAND_INS(name, parameters, arguments, before, in_c, after)                    \
    STAND_IN(name##_, name##_f08_, parameters, arguments, before, in_c, after)         \
    STAND_IN(name##_f08_, name##_, parameters, arguments, before, in_c, after)

#endif
