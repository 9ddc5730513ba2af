# The simulated CUDA driver: a module that tests find as libcuda.so.1. -rpath makes
# libtool build a shared object although nothing installs it.
check_LTLIBRARIES += tests/sim/libcudasim.la
tests_sim_libcudasim_la_SOURCES = \
	tests/sim/agents.c \
	tests/sim/capture.c \
	tests/sim/channels.c \
	tests/sim/contexts.c \
	tests/sim/copies.c \
	tests/sim/copies_3d.c \
	tests/sim/deferred.c \
	tests/sim/devices.c \
	tests/sim/entry.c \
	tests/sim/exchanges.c \
	tests/sim/faults.c \
	tests/sim/gathers.c \
	tests/sim/graphs.c \
	tests/sim/green.c \
	tests/sim/ipc.c \
	tests/sim/job.c \
	tests/sim/job_file.c \
	tests/sim/kernels.c tests/sim/kernels.h \
	tests/sim/locks.c \
	tests/sim/memory.c \
	tests/sim/operations.c \
	tests/sim/pointers.c \
	tests/sim/queue.c \
	tests/sim/ranges.c \
	tests/sim/reductions.c \
	tests/sim/signals.c \
	tests/sim/streams.c \
	tests/sim/vmm.c \
	tests/sim/vmm_addresses.c \
	tests/sim/words.c \
	tests/sim/sim.h \
	tests/sim/sim_api.h \
	src/gpu/copy/copy_agent_kernel.h \
	src/gpu/copy/copy_kernel.h \
	src/gpu/exchange/exchange_kernel.h \
	src/gpu/exchange/exchange_flag.h \
	src/gpu/reduce/reduce_elements.h \
	src/gpu/reduce/reduce_kernel.h \
	src/gpu/reduce/reduce_share.h \
	src/gpu/core/driver_api.h
tests_sim_libcudasim_la_CFLAGS = $(AM_CFLAGS) -pthread
# nodelete: its threads outlive dlclose.
tests_sim_libcudasim_la_LDFLAGS = -module -avoid-version -rpath /nowhere -pthread \
	-Wl,-z,nodelete

sim_check = tests/sim/check.h tests/sim/sim_api.h tests/tap.h
check_PROGRAMS += tests/sim/unit_sim_vmm
tests_sim_unit_sim_vmm_SOURCES = tests/sim/unit_sim_vmm.c tests/sim/pair.h $(sim_check)
tests_sim_unit_sim_vmm_LDADD =
EXTRA_tests_sim_unit_sim_vmm_DEPENDENCIES = tests/sim/libcudasim.la
check_PROGRAMS += \
	tests/sim/unit_sim \
	tests/sim/unit_sim_copies \
	tests/sim/unit_sim_graphs \
	tests/sim/unit_sim_ipc \
	tests/sim/unit_sim_streams \
	tests/sim/unit_sim_waits \
	tests/sim/unit_sim_words
tests_sim_unit_sim_SOURCES = tests/sim/unit_sim.c $(sim_check)
tests_sim_unit_sim_copies_SOURCES = tests/sim/unit_sim_copies.c src/gpu/copy/copy_kernel.h \
	src/gpu/exchange/exchange_kernel.h src/gpu/exchange/exchange_flag.h \
	src/gpu/exchange/signal_kernel.h $(sim_check)
tests_sim_unit_sim_graphs_SOURCES = tests/sim/unit_sim_graphs.c tests/sim/check_streams.h \
	$(sim_check)
tests_sim_unit_sim_ipc_SOURCES = tests/sim/unit_sim_ipc.c tests/sim/pair.h $(sim_check)
tests_sim_unit_sim_streams_SOURCES = tests/sim/unit_sim_streams.c tests/sim/check_streams.h \
	$(sim_check)
tests_sim_unit_sim_waits_SOURCES = tests/sim/unit_sim_waits.c tests/sim/check_streams.h \
	$(sim_check)
tests_sim_unit_sim_words_SOURCES = tests/sim/unit_sim_words.c tests/sim/pair.h $(sim_check)
# They open the module by its path, and link nothing of gpubind's.
tests_sim_unit_sim_LDADD =
tests_sim_unit_sim_copies_LDADD =
tests_sim_unit_sim_graphs_LDADD = -lpthread
tests_sim_unit_sim_ipc_LDADD =
tests_sim_unit_sim_streams_LDADD = -lpthread
tests_sim_unit_sim_waits_LDADD = -lpthread
tests_sim_unit_sim_words_LDADD =
EXTRA_tests_sim_unit_sim_DEPENDENCIES = tests/sim/libcudasim.la
EXTRA_tests_sim_unit_sim_copies_DEPENDENCIES = tests/sim/libcudasim.la
EXTRA_tests_sim_unit_sim_graphs_DEPENDENCIES = tests/sim/libcudasim.la
EXTRA_tests_sim_unit_sim_ipc_DEPENDENCIES = tests/sim/libcudasim.la
EXTRA_tests_sim_unit_sim_streams_DEPENDENCIES = tests/sim/libcudasim.la
EXTRA_tests_sim_unit_sim_waits_DEPENDENCIES = tests/sim/libcudasim.la
EXTRA_tests_sim_unit_sim_words_DEPENDENCIES = tests/sim/libcudasim.la
