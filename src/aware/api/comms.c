/* MPI_Init, MPI_Finalize, and the functions that free communicators: what this library keeps of each goes
 * with it. The application's delete callbacks are called in them, and may communicate. */
#include "aware/api/ending.h"
#include "aware/base/start.h"
#include "aware/coll/coll_comm.h"
#include "aware/request/calls.h"
#include "aware/request/matched.h"
#include "aware/request/persistent.h"

static int started(int result)
{
    if (result == MPI_SUCCESS && !is_behind) {
        aware_tell();
        traced_open();
        ending_prepare();
        coll_start();
    }
    return result;
}

NEXT(MPI_Init)
AWARE_PUBLIC int MPI_Init(int *argc, char ***argv)
{
    trace_part_enter();
    return started(BEHIND(MPI_Init, argc, argv));
}

NEXT(MPI_Init_thread)
AWARE_PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    trace_part_enter();
    return started(BEHIND(MPI_Init_thread, argc, argv, required, provided));
}

static void freed(MPI_Comm comm)
{
    persistent_comm_freed(comm);
    requests_comm_freed(comm);
    matched_comm_freed(comm);
}

#define FREES(name)                            \
    NEXT(name)                                 \
    AWARE_PUBLIC int name(MPI_Comm *comm)      \
    {                                          \
        struct coll_freeing freeing;           \
        int result;                            \
                                               \
        if (is_behind)                         \
            return next_of_##name()(comm);     \
        coll_comm_free_begin(&freeing, *comm); \
        freed(*comm);                          \
        result = next_of_##name()(comm);       \
        coll_comm_free_end(&freeing);          \
        return result;                         \
    }
FREES(MPI_Comm_free)
FREES(MPI_Comm_disconnect)

NEXT(MPI_Finalize)
AWARE_PUBLIC int MPI_Finalize(void)
{
    const bool was_behind = is_behind;
    struct coll_freeing freeing;
    int result;

    if (!was_behind && !ending_is_prepared())
        ending_now();
    coll_comm_free_begin(&freeing, MPI_COMM_SELF);
    result = next_of_MPI_Finalize()();
    coll_comm_free_end(&freeing);
    is_behind = was_behind;
    return result;
}
