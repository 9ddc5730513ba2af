/* MPI_Init, and the functions that free communicators: what this library keeps of each goes with it. */
#include "aware/calls.h"
#include "aware/coll_comm.h"

NEXT(MPI_Init)
AWARE_PUBLIC int MPI_Init(int *argc, char ***argv)
{
    const int result = BEHIND(MPI_Init, argc, argv);

    if (result == MPI_SUCCESS && !is_behind)
        coll_start();
    return result;
}

NEXT(MPI_Init_thread)
AWARE_PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int result = BEHIND(MPI_Init_thread, argc, argv, required, provided);

    if (result == MPI_SUCCESS && !is_behind)
        coll_start();
    return result;
}

#define FREES(name)                       \
    NEXT(name)                            \
    AWARE_PUBLIC int name(MPI_Comm *comm) \
    {                                     \
        if (!is_behind)                   \
            coll_comm_free(*comm);        \
        return BEHIND(name, comm);        \
    }
FREES(MPI_Comm_free)
FREES(MPI_Comm_disconnect)
