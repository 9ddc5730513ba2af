/* What every call of the library goes through: errors, settings, communicators. */
#include "mpi/core/context.h"

#include <stdio.h>

#include "gpu/core/gpu_context.h"
#include "mpi/base/log.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/gpubind.h"

static _Thread_local char latest_error[1024];
static _Thread_local int capture_mode;
static const struct settings unset, *settings = &unset;
static enum library_phase phase;

void library_enter_for(const char *call, int peer)
{
    if (__builtin_expect(nvtx_part_is_on, false))
        nvtx_part_push(call, peer);
    library_lock();
    latest_error[0] = '\0';
    gpu_driver(); /* the application may have initialised CUDA since */
    capture_mode = gpu_suspend_capture();
}

const char *gpubind_error_text(void)
{
    return latest_error;
}

const struct settings *library_settings(void)
{
    return settings;
}

void library_use(const struct settings *loaded)
{
    settings = loaded;
}

void library_is_now(enum library_phase now)
{
    phase = now;
}

enum library_phase library_phase(void)
{
    return phase;
}

bool library_started(void)
{
    return phase == LIBRARY_RUNNING;
}

bool library_mpi_is_up(void)
{
    int up, down;

    PMPI_Initialized(&up);
    PMPI_Finalized(&down);
    return up && !down;
}

static void call_handler(MPI_Comm comm, int result)
{
    MPI_Errhandler handler;

    PMPI_Comm_get_errhandler(comm, &handler);
    /* Intel MPI 2021.17 aborts in the next call for it, by the MPI standard's ABI. */
    if (handler == MPI_ERRORS_RETURN)
        return;
    if (handler == MPI_ERRORS_ARE_FATAL)
        fprintf(stderr, "gpubind: %s\n", latest_error);
    else
        PMPI_Errhandler_free(&handler);
    PMPI_Comm_call_errhandler(comm, result);
}

int library_leave(MPI_Comm comm, int result, const char *call, const struct gpubind_error *err)
{
    int inter;

    progress_notify_peers();
    progress_thread_look();
    gpu_resume_capture(capture_mode);
    library_unlock();
    if (__builtin_expect(nvtx_part_is_on, false))
        nvtx_part_pop();
    if (result == MPI_SUCCESS)
        return result;
    snprintf(latest_error, sizeof latest_error, "%s: %s", call, err ? err->text : "");
    if (!library_mpi_is_up()) {
        fprintf(stderr, "gpubind: %s\n", latest_error);
        return result;
    }
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        comm = MPI_COMM_WORLD;
    call_handler(comm, result);
    return result;
}

/* Communicators without a name are known by their ranks. */
static void refuse_comm(MPI_Comm user, const char *why, struct gpubind_error *err)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0, rank = 0, size = 0;

    PMPI_Comm_get_name(user, name, &length);
    PMPI_Comm_rank(user, &rank);
    PMPI_Comm_size(user, &size);
    if (*name)
        error_set(err, "the communicator '%s' %s", name, why);
    else
        error_set(err, "the communicator of %d ranks in which this is rank %d (it has no name) %s",
                  size, rank, why);
}

struct comm *library_comm(MPI_Comm user, int *result, struct gpubind_error *err)
{
    struct comm *comm;
    int inter = 0;

    *result = MPI_ERR_COMM;
    if (phase != LIBRARY_RUNNING) {
        error_set(err, phase == LIBRARY_OVER ? "the library has ended"
                       : library_mpi_is_up()
                           ? "the library has not seen MPI_Init: call gpubind_init"
                           : "MPI_Init comes first");
        *result = MPI_ERR_OTHER;
        return NULL;
    }
    if (user == MPI_COMM_NULL) {
        error_set(err, "the communicator is MPI_COMM_NULL");
        return NULL;
    }
    comm = comm_of(user);
    if (comm) {
        *result = MPI_SUCCESS;
        return comm;
    }
    PMPI_Comm_test_inter(user, &inter);
    refuse_comm(user,
                inter ? "is an intercommunicator: merge it with MPI_Intercomm_merge"
                      : "is not attached: all its ranks must call gpubind_comm_attach first",
                err);
    return NULL;
}

static bool barrier_is_over(const void *request)
{
    int over = 1;

    /* The request is the caller's, who waits for it here. */
    PMPI_Test((MPI_Request *)(uintptr_t)request, &over, MPI_STATUS_IGNORE);
    return over;
}

void library_barrier(MPI_Comm comm)
{
    MPI_Request request;
    int lost = -1;

    if (PMPI_Ibarrier(comm, &request) != MPI_SUCCESS)
        return;
    while (!progress_wait_for(barrier_is_over, &request, 1) && lost < 0)
        lost = any_lost_rank(); /* who was here may be gone, too: it is over soon then */
    if (lost >= 0 && !barrier_is_over(&request))
        warn_once(WARN_GONE,
                  "rank %d is gone; the end of the library does not wait for it, "
                  "MPI_Finalize may",
                  lost);
}
