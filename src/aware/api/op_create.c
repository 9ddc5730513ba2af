/* The functions that make operations. */
#include <mpi.h>

#include "aware/base/next.h"
#include "aware/base/start.h"
#include "aware/request/operations.h"

/* A function of the application's, or of this library's, as MPI takes it, or as it is kept. */
#define AS(type, function) ((type *)(void (*)(void))(function))

#define CREATES(name, FUNCTION)                                                                 \
    NEXT(name)                                                                                  \
    AWARE_PUBLIC int name(FUNCTION *function, int commutes, MPI_Op *op)                         \
    {                                                                                           \
        operation *const stand_in = aware_is_on() ? operation_stand_in(AS(operation, function)) \
                                                  : AS(operation, function);                    \
                                                                                                \
        return BEHIND(name, AS(FUNCTION, stand_in), commutes, op);                              \
    }
CREATES(MPI_Op_create, MPI_User_function)
#if MPI_VERSION >= 4
CREATES(MPI_Op_create_c, MPI_User_function_c)
#endif
