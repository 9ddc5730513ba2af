/* The functions that make error handlers. */
#include "aware/base/handlers.h"
#include "aware/base/next.h"
#include "aware/base/start.h"

#define CREATES(name, FUNCTION)                                                         \
    NEXT(name)                                                                          \
    AWARE_PUBLIC int name(FUNCTION *function, MPI_Errhandler *errhandler)               \
    {                                                                                   \
        handler *const stand_in = aware_is_on() ? handler_stand_in((handler *)function) \
                                                : (handler *)function;                  \
                                                                                        \
        return BEHIND(name, (FUNCTION *)stand_in, errhandler);                          \
    }
CREATES(MPI_Comm_create_errhandler, MPI_Comm_errhandler_function)
CREATES(MPI_Win_create_errhandler, MPI_Win_errhandler_function)
CREATES(MPI_File_create_errhandler, MPI_File_errhandler_function)
#ifdef AWARE_MPI_4
CREATES(MPI_Session_create_errhandler, MPI_Session_errhandler_function)
#endif
