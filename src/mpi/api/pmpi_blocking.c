/* Intercepts the MPI functions that block or test, and makes progress meanwhile: see blocking.h.
 * Functions that return at once, like MPI_Ibsend and other nonblocking calls, are not
 * intercepted. */
#include <stdlib.h>

#include "mpi/api/pmpi.h"

#define NAME(name) name
#define COUNT int
#define SHIFT int /* of displacements in counts */
#define UNIT int  /* of displacement units of windows */
#include "mpi/api/pmpi_counts.h"
#undef NAME
#undef COUNT
#undef SHIFT
#undef UNIT

#if MPI_VERSION >= 4 /* the calls with large counts */
#define NAME(name) name##_c
#define COUNT MPI_Count
#define SHIFT MPI_Aint
#define UNIT MPI_Aint
#include "mpi/api/pmpi_counts.h"
#endif

/* ---- waits */

STANDS_IN int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int result;

    if (blocking_loops())
        return blocking_wait(request, status);
    if (!blocking_begin())
        return PMPI_Wait(request, status);
    result = PMPI_Wait(request, status);
    blocking_end();
    return result;
}

/* A loop of the function that tests while messages are under way, else the one that waits. */
#define WAITS(name, parameters, arguments, test, over) \
    STANDS_IN int name parameters                      \
    {                                                  \
        int result, n = 0;                             \
                                                       \
        while (blocking_loops()) {                     \
            int flag = 0;                              \
                                                       \
            result = test;                             \
            if ((over) || result != MPI_SUCCESS)       \
                return result;                         \
            blocking_turn(&n);                         \
        }                                              \
        if (!blocking_begin())                         \
            return INTERCEPT_PMPI(name) arguments;     \
        result = INTERCEPT_PMPI(name) arguments;       \
        blocking_end();                                \
        return result;                                 \
    }

WAITS(MPI_Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]),
      (count, requests, statuses), PMPI_Testall(count, requests, &flag, statuses), flag)
WAITS(MPI_Waitany, (int count, MPI_Request requests[], int *which, MPI_Status *status),
      (count, requests, which, status), PMPI_Testany(count, requests, which, &flag, status), flag)
WAITS(MPI_Waitsome,
      (int count, MPI_Request requests[], int *ended, int which[], MPI_Status statuses[]),
      (count, requests, ended, which, statuses),
      (flag = 1, PMPI_Testsome(count, requests, ended, which, statuses)), flag &&*ended != 0)
WAITS(MPI_Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status),
      (source, tag, comm, status), PMPI_Iprobe(source, tag, comm, &flag, status), flag)
WAITS(MPI_Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
      (source, tag, comm, message, status), PMPI_Improbe(source, tag, comm, &flag, message, status),
      flag)

POLLS(MPI_Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
POLLS(MPI_Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
      (count, requests, flag, statuses))
POLLS(MPI_Testany, (int count, MPI_Request requests[], int *which, int *flag, MPI_Status *status),
      (count, requests, which, flag, status))
POLLS(MPI_Testsome,
      (int count, MPI_Request requests[], int *ended, int which[], MPI_Status statuses[]),
      (count, requests, ended, which, statuses))
POLLS(MPI_Request_get_status, (MPI_Request request, int *flag, MPI_Status *status),
      (request, flag, status))
POLLS(MPI_Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
      (source, tag, comm, flag, status))
POLLS(MPI_Improbe,
      (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
      (source, tag, comm, flag, message, status))
POLLS(MPI_Win_test, (MPI_Win win, int *flag), (win, flag))

/* ---- communicators */

STANDS_IN int MPI_Barrier(MPI_Comm comm)
{
    int result;

    if (blocking_announce(comm, true)) /* it is one */
        return MPI_SUCCESS;
    if (!blocking_begin())
        return PMPI_Barrier(comm);
    result = PMPI_Barrier(comm);
    blocking_end();
    return result;
}

/* All ranks must have completed their messages on it: waits for the announcement in any case. */
#define ENDS(name)                             \
    STANDS_IN int name(MPI_Comm *comm)         \
    {                                          \
        int result;                            \
                                               \
        blocking_announce(*comm, true);        \
        if (!blocking_begin())                 \
            return INTERCEPT_PMPI(name)(comm); \
        result = INTERCEPT_PMPI(name)(comm);   \
        blocking_end();                        \
        return result;                         \
    }

ENDS(MPI_Comm_free)
ENDS(MPI_Comm_disconnect)

/* ---- windows */

COLLECTIVE(MPI_Win_create_dynamic, comm, (MPI_Info info, MPI_Comm comm, MPI_Win *win),
           (info, comm, win))
BLOCKS(MPI_Win_free, (MPI_Win * win), (win))
BLOCKS(MPI_Win_fence, (int hints, MPI_Win win), (hints, win))
BLOCKS(MPI_Win_start, (MPI_Group group, int hints, MPI_Win win), (group, hints, win))
BLOCKS(MPI_Win_complete, (MPI_Win win), (win))
BLOCKS(MPI_Win_post, (MPI_Group group, int hints, MPI_Win win), (group, hints, win))
WAITS(MPI_Win_wait, (MPI_Win win), (win), PMPI_Win_test(win, &flag), flag)
BLOCKS(MPI_Win_lock, (int type, int rank, int hints, MPI_Win win), (type, rank, hints, win))
BLOCKS(MPI_Win_lock_all, (int hints, MPI_Win win), (hints, win))
BLOCKS(MPI_Win_unlock, (int rank, MPI_Win win), (rank, win))
BLOCKS(MPI_Win_unlock_all, (MPI_Win win), (win))
BLOCKS(MPI_Win_flush, (int rank, MPI_Win win), (rank, win))
BLOCKS(MPI_Win_flush_all, (MPI_Win win), (win))
BLOCKS(MPI_Win_flush_local, (int rank, MPI_Win win), (rank, win))
BLOCKS(MPI_Win_flush_local_all, (MPI_Win win), (win))

/* ---- files */

COLLECTIVE(MPI_File_open, comm,
           (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
           (comm, name, mode, info, file))
BLOCKS(MPI_File_close, (MPI_File * file), (file))
BLOCKS(MPI_File_sync, (MPI_File file), (file))
BLOCKS(MPI_File_set_size, (MPI_File file, MPI_Offset size), (file, size))
BLOCKS(MPI_File_preallocate, (MPI_File file, MPI_Offset size), (file, size))
BLOCKS(MPI_File_set_atomicity, (MPI_File file, int flag), (file, flag))
BLOCKS(MPI_File_set_info, (MPI_File file, MPI_Info info), (file, info))
BLOCKS(MPI_File_seek_shared, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence))
BLOCKS(MPI_File_set_view,
       (MPI_File file, MPI_Offset at, MPI_Datatype element, MPI_Datatype type,
        const char *representation, MPI_Info info),
       (file, at, element, type, representation, info))

#define FILE_END(name, constant) \
    BLOCKS(name, (MPI_File file, constant void *buffer, MPI_Status *status), (file, buffer, status))
FILE_END(MPI_File_read_all_end, )
FILE_END(MPI_File_read_at_all_end, )
FILE_END(MPI_File_read_ordered_end, )
FILE_END(MPI_File_write_all_end, const)
FILE_END(MPI_File_write_at_all_end, const)
FILE_END(MPI_File_write_ordered_end, const)
