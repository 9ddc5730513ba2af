/* Progress around MPI calls that block, see blocking.h. */
#include "mpi/stream/blocking.h"

#include <sched.h>

#include "gpu/core/gpu_context.h"
#include "mpi/core/comm.h"
#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/core/request.h"

#define TURNS_BEFORE_YIELD 2000

static _Thread_local int depth; /* of intercepted functions */

bool blocking_begin(void)
{
    if (!requests_used)
        return false;
    if (depth++ > 0)
        return true;
    library_lock();
    progress_thread_enter();
    library_unlock();
    library_lend();
    return true;
}

void blocking_end(void)
{
    if (--depth > 0)
        return;
    library_take_back();
    library_lock();
    progress_thread_leave();
    library_unlock();
}

void blocking_nest(int n)
{
    depth += n;
}

bool blocking_loops(void)
{
    return requests_used && depth == 0 && progress_busy();
}

static void step(void)
{
    int mode;

    if (!library_try_lock()) /* the thread that has the lock makes progress */
        return;
    mode = gpu_suspend_capture();
    progress_step();
    gpu_resume_capture(mode);
    library_unlock();
}

void blocking_turn(int *n)
{
    step();
    if (++*n > TURNS_BEFORE_YIELD)
        sched_yield();
}

int blocking_wait(MPI_Request *request, MPI_Status *status)
{
    int over = 0, n = 0;

    for (;;) {
        const int result = PMPI_Test(request, &over, status);

        if (over || result != MPI_SUCCESS)
            return result;
        blocking_turn(&n);
    }
}

void blocking_poll(void)
{
    if (blocking_loops())
        step();
}

bool blocking_announce(MPI_Comm user, bool wholly)
{
    struct comm *comm;

    if (!comms_announce() || depth > 0)
        return false;
    library_lock();
    comm = comm_of(user);
    library_unlock();
    if (!comm || !comm->announces)
        return false;
    depth++;
    blocking_wait(&comm->announcement, MPI_STATUS_IGNORE); /* of the previous call */
    if (PMPI_Ibarrier(user, &comm->announcement) != MPI_SUCCESS)
        comm->announcement = MPI_REQUEST_NULL;
    else if (wholly || progress_busy())
        blocking_wait(&comm->announcement, MPI_STATUS_IGNORE);
    depth--;
    return true;
}
