#include "mpi/library.h"

#include <stdio.h>

#include "cuda/copies.h"
#include "cuda/gpu.h"
#include "cuda/mappings.h"
#include "cuda/memory.h"
#include "mpi/buffers.h"
#include "mpi/engine.h"
#include "mpi/freed.h"
#include "mpi/gpubind.h"
#include "mpi/lanes.h"
#include "mpi/life.h"
#include "mpi/match.h"
#include "mpi/notice.h"
#include "mpi/on_stream.h"
#include "mpi/p2p.h"
#include "mpi/paths.h"
#include "mpi/persistent.h"
#include "mpi/shares.h"
#include "mpi/strides.h"
#include "mpi/stream_thread.h"
#include "mpi/window_remote.h"
#include "mpi/words.h"

static _Thread_local char latest_error[1024];
static _Thread_local int capture_mode;
static struct settings settings;
static enum { NOT_YET, RUNNING, OVER } phase;

void library_enter(void)
{
    library_lock();
    latest_error[0] = '\0';
    capture_mode = gpu_suspend_capture();
}

const char *gpubind_error_text(void)
{
    return latest_error;
}

const struct settings *library_settings(void)
{
    return &settings;
}

bool library_started(void)
{
    return phase == RUNNING;
}

static bool mpi_is_up(void)
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
    if (handler == MPI_ERRORS_ARE_FATAL)
        fprintf(stderr, "gpubind: %s\n", latest_error);
    if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN)
        PMPI_Errhandler_free(&handler);
    PMPI_Comm_call_errhandler(comm, result);
}

int library_leave(MPI_Comm comm, int result, const char *call, const struct gpubind_error *err)
{
    int inter;

    engine_tell_peers();
    stream_thread_look();
    gpu_resume_capture(capture_mode);
    library_unlock();
    if (result == MPI_SUCCESS)
        return result;
    snprintf(latest_error, sizeof latest_error, "%s: %s", call,
             err ? err->text : "");
    if (!mpi_is_up()) {
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
    if (phase != RUNNING) {
        error_set(err, phase == OVER ? "the library has ended"
                                     : "the library has not seen MPI_Init: call gpubind_init");
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
    refuse_comm(user, inter ? "is an intercommunicator: merge it with MPI_Intercomm_merge"
                            : "is not attached: all its ranks must call gpubind_comm_attach first",
                err);
    return NULL;
}

static int start_helper(struct gpubind_error *err)
{
    int level;

    PMPI_Query_thread(&level);
    library_unshare(level != MPI_THREAD_MULTIPLE && !settings.progress_thread);
    if (settings.progress_thread && stream_thread_help_always(err) < 0)
        return MPI_ERR_OTHER;
    return MPI_SUCCESS;
}

static void forget_context(const struct gpu *gpu)
{
    domains_unpinned(gpu);
    on_streams_forget(gpu->context);
    words_unpinned();
}

/* In the order of a step. */
static const struct module *const modules[] = {
    &stream_module, &p2p_module, &persistent_module, &window_module, &freed_module, NULL,
};

int library_start(struct gpubind_error *err)
{
    const double before = operation_clock();
    int result;

    if (phase == RUNNING)
        return MPI_SUCCESS;
    if (phase == OVER) { /* matching and threads have ended for good */
        error_set(err, "the library has ended");
        return MPI_ERR_OTHER;
    }
    if (!mpi_is_up()) {
        error_set(err, "MPI is not initialised");
        return MPI_ERR_OTHER;
    }
    if (settings_load(&settings, err) < 0)
        return MPI_ERR_ARG;
    copies_set_blocks((int)settings.copy_blocks);
    mappings_limit((int)settings.mappings, UINT64_MAX);
    buffers_limit((uint64_t)settings.pack_memory << 20);
    notice_start();
    modules_are(modules);
    gpu_at_death(forget_context);
    result = comm_attach(MPI_COMM_WORLD, &settings, err);
    if (result == MPI_SUCCESS)
        result = comm_attach(MPI_COMM_SELF, &settings, err);
    if (result != MPI_SUCCESS)
        return result;
    phase = RUNNING;
    notice_unknown_variables();
    if (settings.verbose)
        paths_print_settings(stderr, 1e3 * (operation_clock() - before));
    return start_helper(err);
}

static bool barrier_is_over(const void *request)
{
    int over = 1;

    /* The request is the caller's, who waits for it here. */
    PMPI_Test((MPI_Request *)(uintptr_t)request, &over, MPI_STATUS_IGNORE);
    return over;
}

static bool nothing_to_free(const void *unused)
{
    (void)unused;
    return releases_pending() == 0;
}

void library_meet(MPI_Comm comm)
{
    MPI_Request request;
    int lost = -1;

    if (PMPI_Ibarrier(comm, &request) != MPI_SUCCESS)
        return;
    while (!engine_wait_for(barrier_is_over, &request, 1) && lost < 0)
        lost = life_any_lost(); /* who was here may be gone, too: it is over soon then */
    if (lost >= 0 && !barrier_is_over(&request))
        notice_once(NOTICE_GONE, "rank %d is gone; the end of the library does not wait for it, "
                    "MPI_Finalize may", lost);
}

void library_stop(void)
{
    MPI_Comm world;

    if (phase != RUNNING)
        return;
    world = comm_of(MPI_COMM_WORLD)->domain->shadow;
    library_meet(world);
    match_close();
    stream_thread_stop();
    gpu_wait_from_now_on();
    pairs_stop();
    windows_detach();
    mappings_drop_all();
    engine_wait_for(nothing_to_free, NULL, 10);
    library_meet(world); /* nobody maps what its owner frees now */
    windows_clear();
    phase = OVER;
    comms_clear();
    lanes_clear();
    while (domain_first())
        domain_free(domain_first(), true);
    shares_clear();
    operations_clear();
    if (!gpu_driver())
        return;
    words_stop();
    buffers_clear();
    strides_stop();
    memory_forget_all();
    copies_stop();
    gpu_stop();
}

int gpubind_init(void)
{
    struct gpubind_error err;
    int result;

    library_enter();
    result = library_start(&err);
    return library_leave(MPI_COMM_WORLD, result, "gpubind_init", &err);
}

int gpubind_finalize(void)
{
    library_enter();
    library_stop();
    return library_leave(MPI_COMM_WORLD, MPI_SUCCESS, "gpubind_finalize", NULL);
}

int gpubind_comm_attach(MPI_Comm comm)
{
    struct gpubind_error err;
    int result;

    library_enter();
    result = library_start(&err);
    if (result == MPI_SUCCESS && comm != MPI_COMM_NULL && !comm_of(comm))
        library_meet(comm);
    if (result == MPI_SUCCESS)
        result = comm_attach(comm, &settings, &err);
    return library_leave(comm, result, "gpubind_comm_attach", &err);
}

int gpubind_progress(void)
{
    library_enter();
    if (phase == RUNNING)
        engine_poll();
    return library_leave(MPI_COMM_WORLD, MPI_SUCCESS, "gpubind_progress", NULL);
}
