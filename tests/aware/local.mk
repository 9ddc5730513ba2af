# libgpubind-aware: programs that pass GPU memory to MPI.
aware_tests = \
	tests/aware/accumulate.t \
	tests/aware/active.t \
	tests/aware/agree.t \
	tests/aware/allocate.t \
	tests/aware/callbacks.t \
	tests/aware/collectives.t \
	tests/aware/contract.t \
	tests/aware/direct_mpich.t \
	tests/aware/faults.t \
	tests/aware/files.t \
	tests/aware/fortran.t \
	tests/aware/fortran_symbols.t \
	tests/aware/functions.t \
	tests/aware/handlers.t \
	tests/aware/irregular.t \
	tests/aware/large.t \
	tests/aware/large_counts.t \
	tests/aware/layouts.t \
	tests/aware/lost.t \
	tests/aware/mirror.t \
	tests/aware/mpi4py_mpich.t \
	tests/aware/mpich.t \
	tests/aware/nodes.t \
	tests/aware/one_sided.t \
	tests/aware/opened.t \
	tests/aware/order.t \
	tests/aware/packing.t \
	tests/aware/partitioned.t \
	tests/aware/small.t \
	tests/aware/soak.t \
	tests/aware/spawn.t \
	tests/aware/statuses.t \
	tests/aware/threads.t \
	tests/aware/traced.t \
	tests/aware/twice.t \
	tests/aware/ways.t \
	tests/aware/window_errors.t \
	tests/aware/windows.t
shell_tests += $(aware_tests)
EXTRA_DIST += \
	tests/aware/direct.sh \
	tests/aware/fortran_symbols.py \
	tests/aware/functions.sh \
	tests/aware/functions.tsv \
	tests/aware/gpu_arrays.py \
	tests/aware/mpi4py.sh \
	tests/aware/over_mpich.sh \
	tests/aware/mpi4py_gpu.py \
	tests/aware/opened.py \
	tests/aware/queries.c \
	tests/aware/sessions.c \
	tests/aware/spawn.c \
	tests/aware/traced.py

if HAVE_MPI
check_PROGRAMS += tests/aware/unit_host_pool
endif
check_PROGRAMS += tests/aware/unit_sparse_block
tests_aware_unit_sparse_block_SOURCES = tests/aware/unit_sparse_block.c tests/tap.h \
	src/aware/memory/sparse_block.c src/aware/memory/sparse_block.h
tests_aware_unit_host_pool_CFLAGS = $(AM_CFLAGS) -pthread
tests_aware_unit_host_pool_SOURCES = tests/aware/unit_host_pool.c tests/tap.h \
	src/aware/memory/host_pool.c src/aware/memory/host_pool.h \
	src/aware/base/setting.c src/aware/base/setting.h
tests_aware_unit_host_pool_LDADD = src/core/libgpubind-core.la

# Loaded before the C library: see there.
if HAVE_MPI
check_LTLIBRARIES += tests/aware/librefuse_connect.la
endif
tests_aware_librefuse_connect_la_SOURCES = tests/aware/refuse_connect.c
tests_aware_librefuse_connect_la_LDFLAGS = -module -avoid-version -rpath /nowhere

# Loaded behind the library: see each.
if HAVE_MPI
check_LTLIBRARIES += tests/aware/libfailing.la tests/aware/libnewer.la tests/aware/libtakes_gpu.la
endif
tests_aware_libfailing_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_libfailing_la_SOURCES = tests/aware/failing.c
tests_aware_libfailing_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_aware_libnewer_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_libnewer_la_SOURCES = tests/aware/newer.c
tests_aware_libnewer_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_aware_libtakes_gpu_la_SOURCES = tests/aware/takes_gpu.c
tests_aware_libtakes_gpu_la_LDFLAGS = -module -avoid-version -rpath /nowhere

# They are linked to the library where a user would preload it, so that sanitizers work.
aware_programs = \
	tests/aware/accumulate \
	tests/aware/active \
	tests/aware/agree \
	tests/aware/allocate \
	tests/aware/allocate_kinds \
	tests/aware/attached \
	tests/aware/callbacks \
	tests/aware/collectives \
	tests/aware/contract \
	tests/aware/creations \
	tests/aware/direct \
	tests/aware/failed_copies \
	tests/aware/files \
	tests/aware/handlers \
	tests/aware/irregular \
	tests/aware/large \
	tests/aware/large_counts \
	tests/aware/large_files \
	tests/aware/layouts \
	tests/aware/lost \
	tests/aware/mirror \
	tests/aware/nodes \
	tests/aware/one_copy \
	tests/aware/one_sided \
	tests/aware/order \
	tests/aware/packing \
	tests/aware/partitioned \
	tests/aware/small \
	tests/aware/soak \
	tests/aware/statuses \
	tests/aware/swap \
	tests/aware/threads \
	tests/aware/traced \
	tests/aware/twice \
	tests/aware/window_errors \
	tests/aware/window_habits \
	tests/aware/windows
EXTRA_PROGRAMS += $(aware_programs)
if HAVE_MPI
test_programs += $(aware_programs)
endif
CLEANFILES += $(aware_programs)

# Some are programs as users write them; the others use what the library's tests have.
tests_aware_accumulate_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_accumulate_LDFLAGS = -no-install
tests_aware_accumulate_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_accumulate_SOURCES = tests/aware/accumulate.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_active_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_active_LDFLAGS = -no-install
tests_aware_active_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_active_SOURCES = tests/aware/active.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_allocate_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_allocate_LDFLAGS = -no-install
tests_aware_allocate_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_allocate_SOURCES = tests/aware/allocate.c tests/aware/allocate.h \
	tests/aware/tap_ranks.h examples/device.h tests/tap.h
tests_aware_allocate_kinds_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_allocate_kinds_LDFLAGS = -no-install
tests_aware_allocate_kinds_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_allocate_kinds_SOURCES = tests/aware/allocate_kinds.c tests/aware/allocate.h \
	tests/aware/tap_ranks.h examples/device.h tests/tap.h
tests_aware_callbacks_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_callbacks_LDFLAGS = -no-install
tests_aware_callbacks_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_callbacks_SOURCES = tests/aware/callbacks.c examples/device.h tests/tap.h
tests_aware_collectives_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_collectives_LDFLAGS = -no-install
tests_aware_collectives_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_collectives_SOURCES = tests/aware/collectives.c examples/device.h tests/tap.h
tests_aware_failed_copies_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_failed_copies_LDFLAGS = -no-install
tests_aware_failed_copies_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_failed_copies_SOURCES = tests/aware/failed_copies.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_files_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_files_LDFLAGS = -no-install
tests_aware_files_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_files_SOURCES = tests/aware/files.c examples/device.h tests/tap.h
tests_aware_irregular_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread
tests_aware_irregular_LDFLAGS = -no-install
tests_aware_irregular_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_irregular_SOURCES = tests/aware/irregular.c tests/aware/irregular.h \
	tests/aware/irregular_kinds.c tests/aware/tap_ranks.h examples/device.h tests/tap.h
tests_aware_large_counts_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_large_counts_LDFLAGS = -no-install
tests_aware_large_counts_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_large_counts_SOURCES = tests/aware/large_counts.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_large_files_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_large_files_LDFLAGS = -no-install
tests_aware_large_files_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_large_files_SOURCES = tests/aware/large_files.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_layouts_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_layouts_LDFLAGS = -no-install
tests_aware_layouts_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_layouts_SOURCES = tests/aware/layouts.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_lost_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_lost_LDFLAGS = -no-install
tests_aware_lost_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_lost_SOURCES = tests/aware/lost.c examples/device.h tests/tap.h
tests_aware_attached_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_attached_LDFLAGS = -no-install
tests_aware_attached_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_attached_SOURCES = tests/aware/attached.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_mirror_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread
tests_aware_mirror_LDFLAGS = -no-install
tests_aware_mirror_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_mirror_SOURCES = tests/aware/mirror.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_nodes_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_nodes_LDFLAGS = -no-install
tests_aware_nodes_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_nodes_SOURCES = tests/aware/nodes.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_one_copy_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_one_copy_LDFLAGS = -no-install
tests_aware_one_copy_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_one_copy_SOURCES = tests/aware/one_copy.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_one_sided_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_one_sided_LDFLAGS = -no-install
tests_aware_one_sided_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_one_sided_SOURCES = tests/aware/one_sided.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_packing_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_packing_LDFLAGS = -no-install
tests_aware_packing_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_packing_SOURCES = tests/aware/packing.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_partitioned_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread
tests_aware_partitioned_LDFLAGS = -no-install
tests_aware_partitioned_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_partitioned_SOURCES = tests/aware/partitioned.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_small_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_small_LDFLAGS = -no-install
tests_aware_small_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_small_SOURCES = tests/aware/small.c examples/device.h tests/tap.h
tests_aware_handlers_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_handlers_LDFLAGS = -no-install
tests_aware_handlers_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_handlers_SOURCES = tests/aware/handlers.c examples/device.h tests/aware/tap_ranks.h tests/tap.h
tests_aware_twice_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_twice_LDFLAGS = -no-install
tests_aware_twice_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_twice_SOURCES = tests/aware/twice.c examples/device.h tests/aware/tap_ranks.h tests/tap.h
tests_aware_statuses_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_statuses_LDFLAGS = -no-install
tests_aware_statuses_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_statuses_SOURCES = tests/aware/statuses.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_swap_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_swap_LDFLAGS = -no-install
tests_aware_swap_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_swap_SOURCES = tests/aware/swap.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_threads_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread
tests_aware_threads_LDFLAGS = -no-install
tests_aware_threads_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_threads_SOURCES = tests/aware/threads.c examples/device.h tests/tap.h
tests_aware_traced_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread
tests_aware_traced_LDFLAGS = -no-install
tests_aware_traced_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_traced_SOURCES = tests/aware/traced.c examples/device.h
tests_aware_window_errors_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_window_errors_LDFLAGS = -no-install
tests_aware_window_errors_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_window_errors_SOURCES = tests/aware/window_errors.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_window_habits_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_aware_window_habits_LDFLAGS = -no-install
tests_aware_window_habits_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_window_habits_SOURCES = tests/aware/window_habits.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_windows_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread
tests_aware_windows_LDFLAGS = -no-install
tests_aware_windows_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_windows_SOURCES = tests/aware/windows.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h

aware_job = \
	tests/mpi/gpu.c tests/mpi/gpu.h \
	tests/mpi/gpu_vmm.c \
	tests/mpi/job.c tests/mpi/job.h
tests_aware_agree_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_aware_agree_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_aware_agree_LDFLAGS = -no-install
tests_aware_agree_LDADD = src/aware/libgpubind-aware.la src/mpi/libgpubind.la $(MPI_LIBS)
tests_aware_agree_SOURCES = tests/aware/agree.c $(aware_job)
tests_aware_contract_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_aware_contract_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_aware_contract_LDFLAGS = -no-install
tests_aware_contract_LDADD = src/aware/libgpubind-aware.la src/mpi/libgpubind.la $(MPI_LIBS)
tests_aware_contract_SOURCES = tests/aware/contract.c $(aware_job)
tests_aware_direct_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_aware_creations_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread
tests_aware_creations_LDFLAGS = -no-install
tests_aware_creations_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_creations_SOURCES = tests/aware/creations.c tests/aware/tap_ranks.h \
	examples/device.h tests/tap.h
tests_aware_direct_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_aware_direct_LDFLAGS = -no-install
tests_aware_direct_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_direct_SOURCES = \
	tests/aware/direct.c tests/aware/direct.h \
	tests/aware/direct_buffers.c \
	tests/aware/direct_comms.c \
	tests/aware/direct_complete.c \
	tests/aware/direct_finalize.c \
	tests/aware/direct_freed.c \
	tests/aware/direct_layouts.c \
	tests/aware/direct_lengths.c \
	tests/aware/direct_lists.c \
	tests/aware/direct_modes.c \
	tests/aware/direct_pass.c tests/aware/direct_pass.h \
	tests/aware/direct_persistent.c \
	tests/aware/direct_places.c \
	tests/aware/direct_probes.c \
	tests/aware/direct_progress.c \
	tests/aware/direct_rings.c \
	tests/aware/direct_streams.c \
	tests/aware/direct_threads.c \
	tests/aware/direct_truncation.c \
	tests/aware/direct_wildcards.c \
	tests/aware/no_gpubind.c \
	$(aware_job)
tests_aware_large_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_aware_large_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_aware_large_LDFLAGS = -no-install
tests_aware_large_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
tests_aware_large_SOURCES = \
	tests/aware/large.c tests/aware/large.h \
	tests/aware/large_calls.c \
	tests/aware/large_comms.c \
	tests/aware/large_errors.c \
	tests/aware/large_every.c \
	tests/aware/large_inter.c \
	tests/aware/large_neighbours.c \
	tests/aware/large_pending.c \
	tests/aware/large_progress.c \
	tests/aware/large_streams.c \
	tests/aware/large_threads.c \
	tests/aware/large_types.c \
	tests/aware/no_gpubind.c \
	$(aware_job)
tests_aware_order_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_aware_order_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_aware_order_LDFLAGS = -no-install
tests_aware_order_LDADD = src/aware/libgpubind-aware.la src/mpi/libgpubind.la $(MPI_LIBS)
tests_aware_order_SOURCES = tests/aware/order.c $(aware_job)
tests_aware_soak_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_aware_soak_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_aware_soak_LDFLAGS = -no-install
tests_aware_soak_LDADD = src/aware/libgpubind-aware.la src/mpi/libgpubind.la $(MPI_LIBS)
tests_aware_soak_SOURCES = \
	tests/aware/soak.c tests/aware/soak.h \
	tests/aware/soak_collectives.c \
	tests/aware/soak_messages.c \
	$(aware_job)
