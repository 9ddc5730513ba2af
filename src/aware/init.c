/* Start and end of MPI. */
#include <mpi.h>

#include "aware/next.h"
#include "aware/start.h"

NEXT(MPI_Init)
AWARE_PUBLIC int MPI_Init(int *argc, char ***argv)
{
    return aware_started(BEHIND(MPI_Init, argc, argv));
}

NEXT(MPI_Init_thread)
AWARE_PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return aware_started(BEHIND(MPI_Init_thread, argc, argv, required, provided));
}

NEXT(MPI_Finalize)
AWARE_PUBLIC int MPI_Finalize(void)
{
    aware_ending();
    return BEHIND(MPI_Finalize);
}
