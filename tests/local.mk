# All tests speak TAP. A shell test is an executable tests/NAME.t that ends up in
# shell_tests. A C test is tests/unit_NAME.c; it takes two lines:
#   check_PROGRAMS += tests/unit_NAME
#   tests_unit_NAME_SOURCES = tests/unit_NAME.c
# Recorded machines and expected outputs are data: what lies in test_data is shipped
# whole, a new file needs no line here.
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; \
	CC='$(CC)'; MPICC='$(MPICC)'; MPIRUN='$(MPIRUN)'; SANITIZED='$(SAN_CFLAGS)'; \
	NVCC='$(NVCC)'; NVCC_CODE='$(NVCC_CODE)'; export NVCC NVCC_CODE; \
	export top_srcdir top_builddir CC MPICC MPIRUN SANITIZED;

TEST_EXTENSIONS = .t
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/tests/driver.sh \
	$(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = $(LOG_DRIVER)

shell_tests = \
	tests/arrows.t \
	tests/bench_cli.t \
	tests/bench_halo.t \
	tests/bench_host.t \
	tests/bench_p2p.t \
	tests/bench_put.t \
	tests/bench_report.t \
	tests/cli_bad_files.t \
	tests/cli_bad_launcher.t \
	tests/cli_bad_machine.t \
	tests/cli_bad_xml.t \
	tests/cli_env.t \
	tests/cli_environment.t \
	tests/cli_exec.t \
	tests/cli_launchers.t \
	tests/cli_options.t \
	tests/cli_usage.t \
	tests/completion.t \
	tests/core_pure.t \
	tests/docs.t \
	tests/doctor.t \
	tests/examples.t \
	tests/help_man.t \
	tests/lib_exports.t \
	tests/lib_log.t \
	tests/lib_man.t \
	tests/list.t \
	tests/mps_gpu.t \
	tests/neighbours_gpu.t \
	tests/plan.t \
	tests/plan_large.t \
	tests/plan_xml.t \
	tests/plot.t \
	tests/plugin_exclusive.t \
	tests/plugin_gpu.t \
	tests/plugin_info.t \
	tests/plugin_man.t \
	tests/plugin_mpi.t \
	tests/plugin_mps.t \
	tests/plugin_server.t \
	tests/plugin_slurm.t \
	tests/prefix.t \
	tests/recipes.t \
	tests/run_binding.t \
	tests/run_hydra.t \
	tests/run_meeting.t \
	tests/run_mig.t \
	tests/run_mpi.t \
	tests/run_mps.t \
	tests/run_mps_nodes.t \
	tests/run_mps_slurm.t \
	tests/run_nodes.t \
	tests/run_refused.t \
	tests/run_slurm.t \
	tests/run_strangers.t \
	tests/run_vendors.t \
	tests/symbols.t \
	tests/variables.t

test_data = \
	tests/launch \
	tests/list \
	tests/machines \
	tests/mps/client.c \
	tests/neighbours/nvshmem_put.cu \
	tests/mps/nvidia-cuda-mps-control \
	tests/plan \
	tests/plot

if HAVE_CUDA_H
check_PROGRAMS += tests/abi_cuda
endif
tests_abi_cuda_SOURCES = tests/abi_cuda.c
tests_abi_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

if HAVE_NVML_H
check_PROGRAMS += tests/abi_nvml
endif
tests_abi_nvml_SOURCES = tests/abi_nvml.c
tests_abi_nvml_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

# Nodes and jobs to test with, and TAP in C.
test_cases = tests/cases.c tests/cases.h tests/tap.h

check_PROGRAMS += \
	tests/unit_complete \
	tests/unit_apart \
	tests/unit_base \
	tests/unit_bench_roofline \
	tests/unit_bench_table \
	tests/unit_doctor \
	tests/unit_doctor_ask \
	tests/unit_doctor_read \
	tests/unit_env \
	tests/unit_env_array \
	tests/unit_flow \
	tests/unit_halo_grid \
	tests/unit_idlist \
	tests/unit_layout \
	tests/unit_list \
	tests/unit_mps \
	tests/unit_nvidia \
	tests/unit_optimal \
	tests/unit_order \
	tests/unit_pci_tree \
	tests/unit_properties \
	tests/unit_render \
	tests/unit_sets \
	tests/unit_variables \
	tests/unit_visible_write \
	tests/unit_visible_read \
	tests/unit_xml
# Parts of discover.so.
tests_unit_complete_SOURCES = tests/unit_complete.c tests/tap.h \
	src/core/topo/node_from_hwloc.c src/core/topo/node_from_hwloc_cores.c \
	src/core/topo/node_from_hwloc_gpus.c src/core/topo/node_from_hwloc_pci.c src/host/discover/hwloc_complete.c
tests_unit_complete_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
tests_unit_complete_LDADD = src/core/libgpubind-core.la $(HWLOC_LIBS)
tests_unit_pci_tree_SOURCES = tests/unit_pci_tree.c tests/tap.h \
	src/host/discover/hwloc_pci.c src/host/discover/hwloc_pci.h src/host/sys/sysroot.c src/host/sys/sysroot.h
tests_unit_pci_tree_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
tests_unit_pci_tree_LDADD = src/core/libgpubind-core.la $(HWLOC_LIBS)
tests_unit_base_SOURCES = tests/unit_base.c tests/tap.h
tests_unit_apart_SOURCES = tests/unit_apart.c $(test_cases)
# The pure parts of gpubind-bench report, which need no MPI.
tests_unit_bench_roofline_SOURCES = tests/unit_bench_roofline.c tests/tap.h \
	bench/cases/halo_schema.c bench/cases/halo_schema.h \
	bench/cases/host_schema.c bench/cases/host.h \
	bench/main/peak.c bench/main/peaks.h \
	bench/lib/options.c bench/lib/options.h \
	bench/cases/p2p_schema.c bench/cases/p2p.h \
	bench/cases/peer_kernel_schema.c bench/cases/peer_kernel_schema.h \
	bench/pt2pt/schema.c bench/pt2pt/pt2pt.h \
	bench/cases/put_schema.c bench/cases/put_schema.h \
	bench/output/table.c bench/output/table.h \
	bench/lib/sysfs.c bench/lib/sysfs.h \
	bench/main/roofline.c bench/main/roofline.h
tests_unit_bench_roofline_LDADD = src/core/libgpubind-core.la -lm
tests_unit_bench_table_SOURCES = tests/unit_bench_table.c tests/tap.h \
	bench/output/table.c bench/output/table.h bench/output/table_print.c
tests_unit_bench_table_LDADD = src/core/libgpubind-core.la
tests_unit_doctor_SOURCES = tests/unit_doctor.c tests/tap.h
tests_unit_doctor_ask_SOURCES = tests/unit_doctor_ask.c tests/tap.h
EXTRA_tests_unit_doctor_ask_DEPENDENCIES = tests/nvml/libnvmlfaulty.la
tests_unit_doctor_read_SOURCES = tests/unit_doctor_read.c tests/tap.h
tests_unit_env_SOURCES = tests/unit_env.c $(test_cases)
tests_unit_env_array_SOURCES = tests/unit_env_array.c tests/tap.h
tests_unit_flow_SOURCES = tests/unit_flow.c tests/tap.h
tests_unit_halo_grid_SOURCES = tests/unit_halo_grid.c tests/tap.h
tests_unit_idlist_SOURCES = tests/unit_idlist.c tests/tap.h
tests_unit_layout_SOURCES = tests/unit_layout.c tests/tap.h
tests_unit_list_SOURCES = tests/unit_list.c tests/tap.h
tests_unit_mps_SOURCES = tests/unit_mps.c $(test_cases)
tests_unit_nvidia_SOURCES = tests/unit_nvidia.c $(test_cases)
tests_unit_optimal_SOURCES = tests/unit_optimal.c $(test_cases)
tests_unit_order_SOURCES = tests/unit_order.c $(test_cases)
tests_unit_properties_SOURCES = tests/unit_properties.c $(test_cases)
tests_unit_render_SOURCES = tests/unit_render.c $(test_cases)
tests_unit_sets_SOURCES = tests/unit_sets.c $(test_cases)
tests_unit_variables_SOURCES = tests/unit_variables.c tests/tap.h
tests_unit_visible_write_SOURCES = tests/unit_visible_write.c $(test_cases)
tests_unit_visible_read_SOURCES = tests/unit_visible_read.c $(test_cases)
tests_unit_xml_SOURCES = tests/unit_xml.c $(test_cases)

if HAVE_MPI
check_PROGRAMS += tests/unit_layouts
endif
tests_unit_layouts_SOURCES = tests/unit_layouts.c tests/tap.h src/mpi/datatype/strided.c
tests_unit_layouts_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)

# By hand: make tests/bench_plan && tests/bench_plan
EXTRA_PROGRAMS = tests/bench_plan
tests_bench_plan_SOURCES = tests/bench_plan.c $(test_cases)
CLEANFILES += tests/bench_plan

include tests/fuzz/local.mk
include tests/nvml/local.mk
include tests/sim/local.mk
include tests/exchange/local.mk
include tests/mpi/local.mk
include tests/plugin/local.mk

TESTS += $(shell_tests) $(check_PROGRAMS)

# What a newcomer waits for: each module once, with mpirun and simulated GPUs, within three
# minutes on two cores.
quick_tests = \
	tests/arrows.t \
	tests/bench_p2p.t \
	tests/cli_bad_files.t \
	tests/cli_exec.t \
	tests/core_pure.t \
	tests/docs.t \
	tests/doctor.t \
	tests/examples.t \
	tests/exchange.t \
	tests/help_man.t \
	tests/lib_comms.t \
	tests/lib_errors.t \
	tests/lib_exports.t \
	tests/lib_halo.t \
	tests/lib_matching.t \
	tests/lib_order.t \
	tests/lib_probe.t \
	tests/lib_pt2pt.t \
	tests/lib_shm.t \
	tests/lib_stream.t \
	tests/lib_types.t \
	tests/lib_windows.t \
	tests/list.t \
	tests/plan.t \
	tests/plot.t \
	tests/plugin_mpi.t \
	tests/plugin_mps.t \
	tests/run_binding.t \
	tests/run_mig.t \
	tests/run_vendors.t \
	tests/symbols.t \
	tests/variables.t \
	$(check_PROGRAMS)

check-quick:
	GPUBIND_TEST_QUICK=2 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(quick_tests)'
.PHONY: check-quick
EXTRA_DIST += $(shell_tests) $(test_data) \
	tests/bench/launch.py \
	tests/bench/on_gpus tests/bench/soak \
	tests/bench/plan.sh \
	tests/bench.sh \
	tests/completion.py \
	tests/debian13 \
	tests/driver.sh \
	tests/goldens.sh \
	tests/lib.sh \
	tests/mps.sh \
	tests/nodes.sh \
	tests/plugin.sh \
	tests/ranks.sh \
	tests/root13.sh \
	tests/slurm.sh

check_PROGRAMS += tests/unit_handover
tests_unit_handover_SOURCES = tests/unit_handover.c tests/tap.h src/mpi/shm/fd_exchange.c \
	src/mpi/shm/fd_exchange.h
