/* The library's start and end, and which modules it has. */
#include "mpi/api/start.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/copy/copy_batch.h"
#include "gpu/core/events.h"
#include "gpu/core/gpu_context.h"
#include "gpu/core/ipc_cache.h"
#include "gpu/core/mem_query.h"
#include "gpu/kernel_table.h"
#include "mpi/api/freed_requests.h"
#include "mpi/api/transport_report.h"
#include "mpi/base/log.h"
#include "mpi/base/nvtx_part.h"
#include "mpi/base/own_mpi.h"
#include "mpi/base/trace.h"
#include "mpi/base/trace_part.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/datatype/flat_type.h"
#include "mpi/datatype/pack_pool.h"
#include "mpi/gpubind.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/stream_slots.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/persistent/persistent.h"
#include "mpi/rma/window_am.h"
#include "mpi/stream/stream_flag.h"
#include "mpi/stream/stream_queue.h"
#include "mpi/transport/bounce_pool.h"

static struct settings settings;

static int start_helper(struct gpubind_error *err)
{
    int level;

    PMPI_Query_thread(&level);
    library_unshare(level != MPI_THREAD_MULTIPLE && !settings.progress_thread);
    if (settings.progress_thread && progress_thread_help_always(err) < 0)
        return MPI_ERR_OTHER;
    return MPI_SUCCESS;
}

static void forget_context(const struct gpu *gpu)
{
    domains_unpinned(gpu);
    stream_queues_forget();
    stream_flags_unpinned();
    stream_slots_forget(gpu);
}

static void open_ranges(void)
{
    struct gpubind_error err;
    const int status = nvtx_part_open(&err);

    if (status != 0)
        trace_info(TRACE_CORE, "%s", status < 0 ? err.text : "calls are ranges of NVTX");
}

/* In the order of a step. */
static const struct module *const modules[] = {
    &stream_module, &p2p_module, &persistent_module, &window_module, &freed_module, NULL,
};

int library_start(struct gpubind_error *err)
{
    const double before = clock_seconds();
    int result;

    if (library_started())
        return MPI_SUCCESS;
    if (library_phase() == LIBRARY_OVER) { /* matching and threads have ended for good */
        error_set(err, "the library has ended");
        return MPI_ERR_OTHER;
    }
    if (!library_mpi_is_up()) {
        error_set(err, "MPI is not initialised");
        return MPI_ERR_OTHER;
    }
    if (own_mpi_check(err) < 0) { /* no error handler of that MPI can be called */
        fprintf(stderr, "gpubind: %s\n", err->text);
        exit(EXIT_FAILURE);
    }
    if (settings_load(&settings, err) < 0)
        return MPI_ERR_ARG;
    library_use(&settings);
    if (trace_start(err) < 0)
        return MPI_ERR_ARG;
    kernel_table_register();
    copies_set_blocks((int)settings.copy_blocks);
    mappings_limit((int)settings.mappings, UINT64_MAX);
    pack_pool_limit((uint64_t)settings.pack_memory << 20);
    gpu_flags_avoid(ipc_refs_are_in_way);
    warn_start(domain_test_and_set_warned);
    modules_are(modules);
    gpu_on_context_destroyed(forget_context);
    trace_part_open(TRACE_LIBGPUBIND);
    open_ranges();
    result = comm_attach(MPI_COMM_WORLD, &settings, err);
    if (result == MPI_SUCCESS)
        result = comm_attach(MPI_COMM_SELF, &settings, err);
    if (result != MPI_SUCCESS)
        return result;
    library_is_now(LIBRARY_RUNNING);
    warn_unknown_variables();
    if (settings.verbose)
        paths_print_settings(stderr, 1e3 * (clock_seconds() - before));
    trace_info(TRACE_CORE, "gpubind %s started in %.1f ms", PACKAGE_VERSION,
               1e3 * (clock_seconds() - before));
    return start_helper(err);
}

static bool nothing_to_free(const void *unused)
{
    (void)unused;
    return releases_pending() == 0;
}

void library_stop(void)
{
    MPI_Comm world;

    if (!library_started())
        return;
    world = comm_of(MPI_COMM_WORLD)->domain->shadow;
    library_barrier(world);
    match_close();
    progress_thread_stop();
    gpu_allow_waiting();
    channels_stop();
    windows_detach();
    mappings_drop_all();
    progress_wait_for(nothing_to_free, NULL, 10);
    library_barrier(world); /* no rank maps what its owner frees now */
    windows_clear();
    library_is_now(LIBRARY_OVER);
    trace_info(TRACE_CORE, "the library ends");
    trace_part_close();
    comms_clear();
    bounce_pool_clear();
    while (domain_first())
        domain_free(domain_first(), true);
    ipc_refs_clear();
    requests_clear();
    if (!gpu_driver())
        return;
    gpu_flags_stop();
    gpu_slots_stop();
    pack_pool_clear();
    flat_type_stop();
    memory_forget_all();
    events_stop();
    gpu_stop();
}

int gpubind_init(void)
{
    struct gpubind_error err;
    int result;

    library_enter("gpubind_init");
    result = library_start(&err);
    return library_leave(MPI_COMM_WORLD, result, "gpubind_init", &err);
}

int gpubind_finalize(void)
{
    library_enter("gpubind_finalize");
    library_stop();
    return library_leave(MPI_COMM_WORLD, MPI_SUCCESS, "gpubind_finalize", NULL);
}

int gpubind_comm_attach(MPI_Comm comm)
{
    struct gpubind_error err;
    int result;

    library_enter("gpubind_comm_attach");
    result = library_start(&err);
    if (result == MPI_SUCCESS && comm != MPI_COMM_NULL && !comm_of(comm))
        library_barrier(comm);
    if (result == MPI_SUCCESS)
        result = comm_attach(comm, &settings, &err);
    return library_leave(comm, result, "gpubind_comm_attach", &err);
}

int gpubind_progress(void)
{
    library_enter("gpubind_progress");
    if (library_started())
        progress_poll();
    return library_leave(MPI_COMM_WORLD, MPI_SUCCESS, "gpubind_progress", NULL);
}
