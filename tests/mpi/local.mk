# The library's contract. One program, tests/mpi/ranks, holds all tests that run under
# mpirun; tests/lib_NAME.t starts it as `ranks NAME` in several configurations
# (tests/mpi/ranks.sh). It knows gpubind.h and the driver's calls, nothing of the
# library's inside. It is no check_PROGRAM: those run by themselves.
# The same for programs of MPICH, over its library.
EXTRA_PROGRAMS += tests/mpi/ranks tests/mpi/ranks_mpich
if HAVE_MPI
test_programs += tests/mpi/ranks
endif
if FOR_MPICH
test_programs += tests/mpi/ranks_mpich
endif
CLEANFILES += tests/mpi/ranks tests/mpi/ranks_mpich

tests_mpi_ranks_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/src/mpi
tests_mpi_ranks_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread
tests_mpi_ranks_LDFLAGS = -no-install
tests_mpi_ranks_LDADD = src/mpi/libgpubind.la $(MPI_LIBS)
tests_mpi_ranks_SOURCES = $(ranks_sources)
tests_mpi_ranks_mpich_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
# In MPICH's mpi.h statuses are arrays, and MPI_STATUSES_IGNORE none, of which gcc alone warns.
tests_mpi_ranks_mpich_CFLAGS = $(AM_CFLAGS) $(MPICH_CFLAGS) -pthread \
	-Wno-unknown-warning-option -Wno-stringop-overflow
tests_mpi_ranks_mpich_LDFLAGS = -no-install
tests_mpi_ranks_mpich_LDADD = src/mpi/libgpubind-mpich.la $(MPICH_LIBS)
tests_mpi_ranks_mpich_SOURCES = $(ranks_sources)
ranks_sources = \
	tests/mpi/arguments.c \
	tests/mpi/as_mpi.c \
	tests/mpi/comms.c \
	tests/mpi/comms_freed.c \
	tests/mpi/contexts.c \
	tests/mpi/deaths.c \
	tests/mpi/ends.c \
	tests/mpi/failures.c \
	tests/mpi/gpu.c tests/mpi/gpu.h \
	tests/mpi/gpu_vmm.c \
	tests/mpi/footprint.c \
	tests/mpi/green.c \
	tests/mpi/halo.c \
	tests/mpi/halo_errors.c \
	tests/mpi/halo_races.c \
	tests/mpi/halo_world.c tests/mpi/halo_world.h \
	tests/mpi/job.c tests/mpi/job.h \
	tests/mpi/kinds.c \
	tests/mpi/lifetimes.c \
	tests/mpi/matched.c \
	tests/mpi/matching.c \
	tests/mpi/mixed.c \
	tests/mpi/on_stream.c tests/mpi/on_stream.h \
	tests/mpi/on_stream_branches.c \
	tests/mpi/on_stream_direct.c \
	tests/mpi/on_stream_ends.c \
	tests/mpi/on_stream_frees.c \
	tests/mpi/on_stream_graph.c \
	tests/mpi/on_stream_graph_late.c \
	tests/mpi/on_stream_copied.c \
	tests/mpi/in_way.c tests/mpi/in_way.h \
	tests/mpi/on_stream_in_way.c \
	tests/mpi/on_stream_legacy.c \
	tests/mpi/on_stream_many.c \
	tests/mpi/on_stream_mixed.c \
	tests/mpi/on_stream_refused.c \
	tests/mpi/on_stream_rules.c \
	tests/mpi/on_stream_shared.c \
	tests/mpi/on_stream_group.c tests/mpi/on_stream_sendrecv.c tests/mpi/on_stream_wide.c \
	tests/mpi/on_stream_strided.c \
	tests/mpi/order.c \
	tests/mpi/persistent.c \
	tests/mpi/persistent_channel.c \
	tests/mpi/persistent_ends.c \
	tests/mpi/persistent_failures.c \
	tests/mpi/persistent_gone.c \
	tests/mpi/persistent_held.c \
	tests/mpi/persistent_in_way.c \
	tests/mpi/persistent_large.c \
	tests/mpi/persistent_over.c \
	tests/mpi/persistent_queue.c \
	tests/mpi/persistent_random.c \
	tests/mpi/persistent_rules.c \
	tests/mpi/persistent_stream.c \
	tests/mpi/persistent_types.c \
	tests/mpi/mpi_calls.c tests/mpi/mpi_calls.h \
	tests/mpi/probe.c \
	tests/mpi/progress.c \
	tests/mpi/pt2pt.c \
	tests/mpi/random_type.c tests/mpi/random_type.h \
	tests/mpi/ranks.c \
	tests/mpi/regular.c \
	tests/mpi/requests.c \
	tests/mpi/reset.c \
	tests/mpi/room.c \
	tests/mpi/soak.c tests/mpi/soak.h \
	tests/mpi/soak_calls.c \
	tests/mpi/soak_layouts.c \
	tests/mpi/soak_matching.c \
	tests/mpi/soak_memory.c \
	tests/mpi/soak_messages.c tests/mpi/soak_messages.h \
	tests/mpi/soak_pending.c \
	tests/mpi/soak_persistent.c \
	tests/mpi/soak_plain.c \
	tests/mpi/soak_shifts.c \
	tests/mpi/soak_truncation.c \
	tests/mpi/soak_windows.c \
	tests/mpi/spawn.c \
	tests/mpi/requests_ends.c \
	tests/mpi/requests_freed.c \
	tests/mpi/stress.c tests/mpi/stress.h \
	tests/mpi/stress_round.c \
	tests/mpi/strided.c \
	tests/mpi/strided_bursts.c \
	tests/mpi/strided_late.c \
	tests/mpi/sync_copies.c tests/mpi/synchronous.c \
	tests/mpi/in_driver.c \
	tests/mpi/tests.h \
	tests/mpi/threads.c \
	tests/mpi/truncation.c \
	tests/mpi/types.c \
	tests/mpi/waits.c \
	tests/mpi/unexpected.c \
	tests/mpi/types_as_mpi.c \
	tests/mpi/where.c \
	tests/mpi/windows.c tests/mpi/windows.h \
	tests/mpi/windows_remote.c \
	tests/mpi/windows_remote_ends.c \
	tests/mpi/windows_streams.c \
	tests/mpi/windows_gpu.c \
	tests/mpi/windows_memory.c

# By hand, on two GPUs: see there.
EXTRA_PROGRAMS += tests/bench/persistent
CLEANFILES += tests/bench/persistent
tests_bench_persistent_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/src/mpi
tests_bench_persistent_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_bench_persistent_LDFLAGS = -no-install
tests_bench_persistent_LDADD = src/mpi/libgpubind.la $(MPI_LIBS)
tests_bench_persistent_SOURCES = \
	tests/bench/persistent.c \
	tests/mpi/gpu.c tests/mpi/gpu.h \
	tests/mpi/gpu_vmm.c

# By hand: make tests/bench/strided && mpirun -np 2 tests/bench/strided
EXTRA_PROGRAMS += tests/bench/strided
CLEANFILES += tests/bench/strided
tests_bench_strided_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_bench_strided_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_bench_strided_LDFLAGS = -no-install
tests_bench_strided_LDADD = $(tests_mpi_ranks_LDADD)
tests_bench_strided_SOURCES = \
	tests/bench/strided.c \
	tests/mpi/gpu.c tests/mpi/gpu.h \
	tests/mpi/gpu_vmm.c

# Loaded before the C library: see there.
if HAVE_MPI
check_LTLIBRARIES += tests/mpi/librefuse_memfd.la
endif
tests_mpi_librefuse_memfd_la_SOURCES = tests/mpi/refuse_memfd.c
tests_mpi_librefuse_memfd_la_LDFLAGS = -module -avoid-version -rpath /nowhere

# What a profiler has the libraries load.
if HAVE_MPI
check_LTLIBRARIES += tests/mpi/libnvtx_tool.la
endif
tests_mpi_libnvtx_tool_la_SOURCES = tests/mpi/nvtx_tool.c
tests_mpi_libnvtx_tool_la_LDFLAGS = -module -avoid-version -rpath /nowhere

mpi_tests = \
	tests/mpi/lib_comms.t \
	tests/mpi/lib_deaths.t \
	tests/mpi/lib_errors.t \
	tests/mpi/lib_failures.t \
	tests/mpi/lib_footprint.t \
	tests/mpi/lib_halo.t \
	tests/mpi/lib_in_driver.t \
	tests/mpi/lib_matching.t \
	tests/mpi/lib_memory.t \
	tests/mpi/lib_mpich.t \
	tests/mpi/lib_nvtx.t \
	tests/mpi/lib_order.t \
	tests/mpi/lib_probe.t \
	tests/mpi/lib_progress.t \
	tests/mpi/lib_pt2pt.t \
	tests/mpi/lib_shm.t \
	tests/mpi/lib_soak.t \
	tests/mpi/lib_stress.t \
	tests/mpi/lib_stream_graphs.t \
	tests/mpi/lib_stream_groups.t \
	tests/mpi/lib_strided.t \
	tests/mpi/lib_threads.t \
	tests/mpi/lib_traced.t \
	tests/mpi/lib_types.t \
	tests/mpi/lib_waits.t \
	tests/mpi/lib_where.t \
	tests/mpi/lib_windows_memory.t \
	tests/mpi/windows_gpu.t
shell_tests += $(mpi_tests)
EXTRA_DIST += tests/mpi/ranks.sh tests/mpi/port.c tests/mpi/traced.py

# By hand: make tests/bench/held
EXTRA_PROGRAMS += tests/bench/held
CLEANFILES += tests/bench/held
tests_bench_held_CFLAGS = $(AM_CFLAGS) -pthread
tests_bench_held_LDADD = src/gpu/libgpubind-gpu.la src/core/libgpubind-core.la
tests_bench_held_SOURCES = tests/bench/held.c
EXTRA_DIST += tests/mpi/windows_kernels.cu

# By hand: see there.
EXTRA_PROGRAMS += tests/bench/window
CLEANFILES += tests/bench/window
tests_bench_window_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_bench_window_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_bench_window_LDFLAGS = -no-install
tests_bench_window_LDADD = $(tests_mpi_ranks_LDADD)
tests_bench_window_SOURCES = tests/bench/window.c tests/mpi/gpu.c tests/mpi/gpu.h \
	tests/mpi/gpu_vmm.c

# By hand: see there.
EXTRA_PROGRAMS += tests/bench/one_sided
CLEANFILES += tests/bench/one_sided
tests_bench_one_sided_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_bench_one_sided_LDADD = $(MPI_LIBS)
tests_bench_one_sided_SOURCES = tests/bench/one_sided.c examples/device.h

# By hand: see there.
EXTRA_PROGRAMS += tests/bench/file_write
CLEANFILES += tests/bench/file_write
tests_bench_file_write_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_bench_file_write_LDADD = $(MPI_LIBS)
tests_bench_file_write_SOURCES = tests/bench/file_write.c examples/device.h

# By hand, on two GPUs: see there.
EXTRA_PROGRAMS += tests/bench/stream_flags
CLEANFILES += tests/bench/stream_flags
tests_bench_stream_flags_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_bench_stream_flags_LDADD = $(MPI_LIBS)
tests_bench_stream_flags_SOURCES = tests/bench/stream_flags.c examples/device.h

# By hand: see there.
EXTRA_PROGRAMS += tests/bench/blocking
CLEANFILES += tests/bench/blocking
tests_bench_blocking_CPPFLAGS = $(tests_mpi_ranks_CPPFLAGS)
tests_bench_blocking_CFLAGS = $(tests_mpi_ranks_CFLAGS)
tests_bench_blocking_LDFLAGS = -no-install
tests_bench_blocking_LDADD = $(tests_mpi_ranks_LDADD)
tests_bench_blocking_SOURCES = tests/bench/blocking.c
