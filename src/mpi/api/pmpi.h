/* What the intercepted MPI functions of C and Fortran call, and the macros that define those of
 * C. */
#ifndef GPUBIND_MPI_API_PMPI_H
#define GPUBIND_MPI_API_PMPI_H

#include <mpi.h>

#include "mpi/api/newer_mpi.h"
#include "mpi/stream/blocking.h"

void gpubind_intercept_started(void);
void gpubind_intercept_ending(void);
/* Collective over comm; MPI_COMM_NULL and intercommunicators are left alone. */
void gpubind_intercept_made(MPI_Comm comm);

#define STANDS_IN __attribute__((visibility("default")))
#define INTERCEPT_PMPI(name) P##name

/* Defines a function that may block, with that name, those parameters and those arguments. */
#define BLOCKS(name, parameters, arguments)        \
    STANDS_IN int name parameters                  \
    {                                              \
        int result;                                \
                                                   \
        if (!blocking_begin())                     \
            return INTERCEPT_PMPI(name) arguments; \
        result = INTERCEPT_PMPI(name) arguments;   \
        blocking_end();                            \
        return result;                             \
    }

/* The same for one that is collective over comm. */
#define COLLECTIVE(name, comm, parameters, arguments) \
    STANDS_IN int name parameters                     \
    {                                                 \
        int result;                                   \
                                                      \
        blocking_announce(comm, false);               \
        if (!blocking_begin())                        \
            return INTERCEPT_PMPI(name) arguments;    \
        result = INTERCEPT_PMPI(name) arguments;      \
        blocking_end();                               \
        return result;                                \
    }

/* The same for one that makes *newcomm. */
#define CONSTRUCTOR(name, comm, parameters, arguments)                         \
    STANDS_IN int name parameters                                              \
    {                                                                          \
        const bool begun = (blocking_announce(comm, false), blocking_begin()); \
        const int result = INTERCEPT_PMPI(name) arguments;                     \
                                                                               \
        if (begun)                                                             \
            blocking_end();                                                    \
        if (result == MPI_SUCCESS)                                             \
            gpubind_intercept_made(*newcomm);                                  \
        return result;                                                         \
    }

/* Defines a function that tests. */
#define POLLS(name, parameters, arguments)                 \
    STANDS_IN int name parameters                          \
    {                                                      \
        const int result = INTERCEPT_PMPI(name) arguments; \
                                                           \
        blocking_poll();                                   \
        return result;                                     \
    }

#endif
