/* Each file's tests; ranks.c has the table. */
#ifndef GPUBIND_TESTS_MPI_TESTS_H
#define GPUBIND_TESTS_MPI_TESTS_H

/* What stands behind the test's name on the command line. */
extern const char *const *arguments;
extern int nargs;

void test_abort(void);
void test_alone(void);
void test_arguments(void);
void test_as_mpi(void);
void test_churn(void);
void test_comms(void);
void test_contexts(void);
void test_deaths(void);
void test_die(void);
void test_failures(void);
void test_finalize(void);
void test_halo(void);
void test_halo_errors(void);
void test_halo_long(void);
void test_halo_races(void);
void test_huge(void);
void test_kinds(void);
void test_late(void);
void test_lifetimes(void);
void test_mappings(void);
void test_matched(void);
void test_matching(void);
void test_mixed(void);
void test_on_stream(void);
void test_on_stream_direct(void);
void test_on_stream_frees(void);
void test_on_stream_many(void);
void test_on_stream_mixed(void);
void test_in_driver(void);
void test_order(void);
void test_sync_copies(void);
void test_persistent(void);
void test_persistent_channel(void);
void test_persistent_die(void);
void test_persistent_ends(void);
void test_persistent_failures(void);
void test_persistent_gone(void);
void test_persistent_held(void);
void test_persistent_left(void);
void test_persistent_over(void);
void test_persistent_queue(void);
void test_persistent_random(void);
void test_persistent_rules(void);
void test_persistent_stream(void);
void test_persistent_types(void);
void test_probe(void);
void test_progress(void);
void test_pt2pt(void);
void test_regular(void);
void test_requests(void);
void test_reset(void);
void test_room(void);
void test_soak(void);
void test_spawn(void);
void test_requests_ends(void);
void test_requests_freed(void);
void test_strided(void);
void test_strided_bursts(void);
void test_strided_late(void);
void test_stress(void);
void test_synchronous(void);
void test_threads(void);
void test_truncation(void);
void test_types(void);
void test_types_as_mpi(void);
void test_unaided(void);
void test_waits(void);
void test_unexpected(void);
void test_unexpected_limit(void);
void test_where(void);
void test_windows(void);
void test_windows_apart(void);
void test_windows_die(void);
void test_windows_ends(void);
void test_windows_fail(void);
void test_windows_gpu(void);
void test_windows_memory(void);
void test_windows_trap(void);

#endif
