/* The functions of Fortran that make error handlers: MPIs do not make them of C's. The application's subroutine has
 * the addresses of a handle and of a code, as a function of C has. */
#include "aware/base/handlers.h"
#include "aware/base/next.h"
#include "aware/base/start.h"

typedef void create(handler *function, MPI_Fint *errhandler, MPI_Fint *error);

#define CREATES(name)                                                                    \
    AWARE_PUBLIC create name;                                                            \
    void name(handler *function, MPI_Fint *errhandler, MPI_Fint *error)                  \
    {                                                                                    \
        static create *found;                                                            \
                                                                                         \
        if (!found)                                                                      \
            *(void **)&found = next_function(#name);                                     \
        found(aware_is_on() ? handler_stand_in(function) : function, errhandler, error); \
    }

/* As compilers may spell it. */
#define SPELT(lower, upper) \
    CREATES(lower##_)       \
    CREATES(p##lower##_)    \
    CREATES(lower##__)      \
    CREATES(p##lower##__)   \
    CREATES(lower)          \
    CREATES(p##lower)       \
    CREATES(upper)          \
    CREATES(P##upper)
SPELT(mpi_comm_create_errhandler, MPI_COMM_CREATE_ERRHANDLER)
SPELT(mpi_win_create_errhandler, MPI_WIN_CREATE_ERRHANDLER)
SPELT(mpi_file_create_errhandler, MPI_FILE_CREATE_ERRHANDLER)
#ifdef OPEN_MPI
#define OF_OPEN_MPI(name) \
    CREATES(name##_f)     \
    CREATES(P##name##_f)  \
    CREATES(name##_f08)   \
    CREATES(P##name##_f08)
OF_OPEN_MPI(MPI_Comm_create_errhandler)
OF_OPEN_MPI(MPI_Win_create_errhandler)
OF_OPEN_MPI(MPI_File_create_errhandler)
CREATES(mpi_comm_create_errhandler_f08_)
CREATES(pmpi_comm_create_errhandler_f08_)
CREATES(mpi_win_create_errhandler_f08_)
CREATES(pmpi_win_create_errhandler_f08_)
CREATES(mpi_file_create_errhandler_f08_)
CREATES(pmpi_file_create_errhandler_f08_)
#endif
