/* The program that tests/lib_*.t run under mpirun: `ranks NAME [ARGUMENT...]`. */
#include <stdio.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

int nargs;
const char *const *arguments;

static const struct {
    const char *name;
    void (*test)(void);
    int least, multiple; /* ranks: at least, and a multiple of */
    int threads;
} tests[] = {
    {"abort", test_abort, 2, 1, MPI_THREAD_SINGLE},
    {"alone", test_alone, 2, 1, MPI_THREAD_SINGLE},
    {"arguments", test_arguments, 2, 1, MPI_THREAD_SINGLE},
    {"as_mpi", test_as_mpi, 2, 2, MPI_THREAD_SINGLE},
    {"churn", test_churn, 2, 1, MPI_THREAD_SINGLE},
    {"comms", test_comms, 3, 1, MPI_THREAD_SINGLE},
    {"comms_freed", test_comms_freed, 2, 1, MPI_THREAD_SINGLE},
    {"contexts", test_contexts, 2, 1, MPI_THREAD_SERIALIZED},
    {"deaths", test_deaths, 3, 1, MPI_THREAD_SINGLE},
    {"die", test_die, 2, 1, MPI_THREAD_SINGLE},
    {"failures", test_failures, 2, 1, MPI_THREAD_SINGLE},
    {"bounce_refused", test_bounce_refused, 2, 1, MPI_THREAD_SINGLE},
    {"finalize", test_finalize, 2, 1, MPI_THREAD_SINGLE},
    {"footprint", test_footprint, 2, 1, MPI_THREAD_SINGLE},
    {"halo", test_halo, 1, 1, MPI_THREAD_SINGLE},
    {"green", test_green, 2, 2, MPI_THREAD_SINGLE},
    {"halo_errors", test_halo_errors, 2, 1, MPI_THREAD_SINGLE},
    {"halo_long", test_halo_long, 1, 1, MPI_THREAD_SINGLE},
    {"halo_races", test_halo_races, 1, 1, MPI_THREAD_SINGLE},
    {"huge", test_huge, 2, 1, MPI_THREAD_SINGLE},
    {"kinds", test_kinds, 2, 1, MPI_THREAD_SINGLE},
    {"late", test_late, 2, 1, MPI_THREAD_SINGLE},
    {"lifetimes", test_lifetimes, 2, 2, MPI_THREAD_SINGLE},
    {"mappings", test_mappings, 2, 1, MPI_THREAD_SINGLE},
    {"matched", test_matched, 2, 1, MPI_THREAD_SINGLE},
    {"matching", test_matching, 3, 1, MPI_THREAD_SINGLE},
    {"mixed", test_mixed, 2, 1, MPI_THREAD_SINGLE},
    {"on_stream", test_on_stream, 2, 1, MPI_THREAD_SINGLE},
    {"on_stream_branches", test_on_stream_branches, 2, 1, MPI_THREAD_SINGLE},
    {"on_stream_direct", test_on_stream_direct, 2, 1, MPI_THREAD_SINGLE},
    {"on_stream_frees", test_on_stream_frees, 2, 1, MPI_THREAD_SINGLE},
    {"on_stream_channels", test_on_stream_channels, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_legacy", test_on_stream_legacy, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_legacy_threads", test_on_stream_legacy_threads, 2, 2, MPI_THREAD_FUNNELED},
    {"on_stream_many", test_on_stream_many, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_mixed", test_on_stream_mixed, 2, 1, MPI_THREAD_SINGLE},
    {"on_stream_graph", test_on_stream_graph, 1, 1, MPI_THREAD_SINGLE},
    {"on_stream_group", test_on_stream_group, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_copied", test_on_stream_copied, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_graph_in_way", test_on_stream_graph_in_way, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_graph_late", test_on_stream_graph_late, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_graph_window", test_on_stream_graph_window, 3, 3, MPI_THREAD_SINGLE},
    {"on_stream_in_way", test_on_stream_in_way, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_refused", test_on_stream_refused, 2, 1, MPI_THREAD_SINGLE},
    {"on_stream_sendrecv", test_on_stream_sendrecv, 1, 1, MPI_THREAD_SINGLE},
    {"on_stream_wide", test_on_stream_wide, 2, 2, MPI_THREAD_SINGLE},
    {"on_stream_shared", test_on_stream_shared, 4, 2, MPI_THREAD_SINGLE},
    {"in_driver", test_in_driver, 2, 2, MPI_THREAD_SINGLE},
    {"order", test_order, 2, 1, MPI_THREAD_SINGLE},
    {"sync_copies", test_sync_copies, 2, 2, MPI_THREAD_SINGLE},
    {"persistent", test_persistent, 1, 1, MPI_THREAD_SINGLE},
    {"persistent_channel", test_persistent_channel, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_die", test_persistent_die, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_ends", test_persistent_ends, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_failures", test_persistent_failures, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_gone", test_persistent_gone, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_held", test_persistent_held, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_in_way", test_persistent_in_way, 2, 2, MPI_THREAD_SINGLE},
    {"persistent_large", test_persistent_large, 2, 2, MPI_THREAD_SINGLE},
    {"persistent_left", test_persistent_left, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_over", test_persistent_over, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_queue", test_persistent_queue, 1, 1, MPI_THREAD_SINGLE},
    {"persistent_random", test_persistent_random, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_rules", test_persistent_rules, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_stream", test_persistent_stream, 2, 1, MPI_THREAD_SINGLE},
    {"persistent_types", test_persistent_types, 1, 1, MPI_THREAD_SINGLE},
    {"probe", test_probe, 2, 1, MPI_THREAD_SINGLE},
    {"progress", test_progress, 2, 1, MPI_THREAD_SINGLE},
    {"pt2pt", test_pt2pt, 2, 2, MPI_THREAD_SINGLE},
    {"regular", test_regular, 2, 1, MPI_THREAD_SINGLE},
    {"requests", test_requests, 2, 1, MPI_THREAD_SINGLE},
    {"reset", test_reset, 2, 1, MPI_THREAD_SINGLE},
    {"room", test_room, 4, 1, MPI_THREAD_SINGLE},
    {"soak", test_soak, 2, 1, MPI_THREAD_SINGLE},
    {"spawn", test_spawn, 2, 1, MPI_THREAD_SINGLE},
    {"requests_ends", test_requests_ends, 2, 1, MPI_THREAD_SINGLE},
    {"requests_freed", test_requests_freed, 2, 1, MPI_THREAD_SINGLE},
    {"strided", test_strided, 2, 1, MPI_THREAD_SINGLE},
    {"strided_bursts", test_strided_bursts, 2, 1, MPI_THREAD_SINGLE},
    {"strided_late", test_strided_late, 2, 1, MPI_THREAD_SINGLE},
    {"stress", test_stress, 2, 1, MPI_THREAD_MULTIPLE},
    {"synchronous", test_synchronous, 2, 1, MPI_THREAD_SINGLE},
    {"threads", test_threads, 2, 2, MPI_THREAD_MULTIPLE},
    {"truncation", test_truncation, 2, 1, MPI_THREAD_SINGLE},
    {"types", test_types, 2, 1, MPI_THREAD_SINGLE},
    {"types_as_mpi", test_types_as_mpi, 2, 1, MPI_THREAD_SINGLE},
    {"unaided", test_unaided, 2, 1, MPI_THREAD_SINGLE},
    {"waits", test_waits, 2, 1, MPI_THREAD_SINGLE},
    {"unexpected", test_unexpected, 2, 1, MPI_THREAD_SINGLE},
    {"unexpected_limit", test_unexpected_limit, 2, 1, MPI_THREAD_SINGLE},
    {"where", test_where, 1, 1, MPI_THREAD_SINGLE},
    {"windows", test_windows, 1, 1, MPI_THREAD_SINGLE},
    {"windows_apart", test_windows_apart, 2, 1, MPI_THREAD_SINGLE},
    {"windows_die", test_windows_die, 2, 1, MPI_THREAD_SINGLE},
    {"windows_ends", test_windows_ends, 2, 1, MPI_THREAD_SINGLE},
    {"windows_fail", test_windows_fail, 2, 1, MPI_THREAD_SINGLE},
    {"windows_gpu", test_windows_gpu, 1, 1, MPI_THREAD_SINGLE},
    {"windows_memory", test_windows_memory, 1, 1, MPI_THREAD_SINGLE},
    {"windows_trap", test_windows_trap, 1, 1, MPI_THREAD_SINGLE},
};

int main(int argc, char *argv[])
{
    int ntests = (int)(sizeof tests / sizeof tests[0]), which = 0;

    while (which < ntests && (argc < 2 || strcmp(argv[1], tests[which].name) != 0))
        which++;
    if (which == ntests) {
        fprintf(stderr, "ranks: no test of that name\n");
        return 2;
    }
    nargs = argc - 2;
    arguments = (const char *const *)argv + 2;
    job_start(tests[which].threads);
    if (job.size < tests[which].least || job.size % tests[which].multiple) {
        fprintf(stderr, "ranks: %s is not for %d ranks\n", argv[1], job.size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    tests[which].test();
    return job_end();
}
