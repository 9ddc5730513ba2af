# All tests speak TAP, and lie in the folder of what they test. A shell test is an executable
# tests/FOLDER/NAME.t that ends up in shell_tests. A C test is tests/FOLDER/unit_NAME.c; it
# takes two lines:
#   check_PROGRAMS += tests/FOLDER/unit_NAME
#   tests_FOLDER_unit_NAME_SOURCES = tests/FOLDER/unit_NAME.c
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

# Of those that take minutes, which begin first: the last of them would have the machine to itself.
long_tests = \
	tests/aware/direct.t \
	tests/aware/mpi4py.t \
	tests/mpi/lib_persistent.t \
	tests/mpi/lib_requests.t \
	tests/mpi/lib_stream.t \
	tests/mpi/lib_windows.t
shell_tests = $(long_tests) \
	tests/arrows.t \
	tests/bench/bench_cli.t \
	tests/bench/bench_coll.t \
	tests/bench/bench_halo.t \
	tests/bench/bench_host.t \
	tests/bench/bench_p2p.t \
	tests/bench/bench_put.t \
	tests/bench/bench_report.t \
	tests/bench/bench_stream.t \
	tests/bench/plot.t \
	tests/bench/plot_trace.t \
	tests/bin/check.t \
	tests/bin/cli_bad_files.t \
	tests/bin/cli_bad_launcher.t \
	tests/bin/cli_bad_machine.t \
	tests/bin/cli_bad_xml.t \
	tests/bin/cli_env.t \
	tests/bin/cli_environment.t \
	tests/bin/cli_exec.t \
	tests/bin/cli_launchers.t \
	tests/bin/cli_options.t \
	tests/bin/cli_usage.t \
	tests/bin/completion.t \
	tests/bin/doctor.t \
	tests/bin/doctor_nodes.t \
	tests/bin/gpu_aware.t \
	tests/bin/help_man.t \
	tests/bin/list.t \
	tests/bin/mps_gpu.t \
	tests/bin/overview.t \
	tests/bin/plan.t \
	tests/bin/plan_large.t \
	tests/bin/plan_xml.t \
	tests/bin/prefix.t \
	tests/bin/recipes.t \
	tests/bin/run_binding.t \
	tests/bin/run_hydra.t \
	tests/bin/run_meeting.t \
	tests/bin/run_mig.t \
	tests/bin/run_mpi.t \
	tests/bin/run_mps.t \
	tests/bin/run_mps_nodes.t \
	tests/bin/run_mps_slurm.t \
	tests/bin/run_nodes.t \
	tests/bin/run_refused.t \
	tests/bin/run_slurm.t \
	tests/bin/run_slurm_devices.t \
	tests/bin/run_strangers.t \
	tests/bin/run_vendors.t \
	tests/bin/run_visible.t \
	tests/bin/variables.t \
	tests/core/core_pure.t \
	tests/docs.t \
	tests/examples.t \
	tests/html.t \
	tests/limits.t \
	tests/mpi/lib_exports.t \
	tests/mpi/lib_log.t \
	tests/mpi/lib_man.t \
	tests/mpi/neighbours_gpu.t \
	tests/mpi/port.t \
	tests/packaging/abi.t \
	tests/packaging/build_recipes.t \
	tests/packaging/refused.t \
	tests/plugin/plugin_aware.t \
	tests/plugin/plugin_exclusive.t \
	tests/plugin/plugin_gpu.t \
	tests/plugin/plugin_info.t \
	tests/plugin/plugin_man.t \
	tests/plugin/plugin_mpi.t \
	tests/plugin/plugin_mps.t \
	tests/plugin/plugin_server.t \
	tests/plugin/plugin_slurm.t \
	tests/plugin/plugin_visible.t \
	tests/symbols.t \
	tests/tutorial.t

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
check_PROGRAMS += tests/gpu/abi_cuda
endif
tests_gpu_abi_cuda_SOURCES = tests/gpu/abi_cuda.c
tests_gpu_abi_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

if HAVE_NVML_H
check_PROGRAMS += tests/host/abi_nvml
endif
tests_host_abi_nvml_SOURCES = tests/host/abi_nvml.c
tests_host_abi_nvml_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

if HAVE_PMIX
check_PROGRAMS += tests/host/abi_pmix
endif
tests_host_abi_pmix_SOURCES = tests/host/abi_pmix.c
tests_host_abi_pmix_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CPPFLAGS)
tests_host_abi_pmix_LDADD = $(PMIX_LIBS)

# Nodes and jobs to test with, and TAP in C.
test_cases = tests/cases.c tests/cases.h tests/tap.h

check_PROGRAMS += \
	tests/host/unit_complete \
	tests/host/unit_discover_subprocess \
	tests/core/unit_base \
	tests/bench/unit_bench_roofline \
	tests/bench/unit_bench_table \
	tests/core/unit_doctor \
	tests/core/unit_doctor_nodes \
	tests/core/unit_elf \
	tests/host/unit_doctor_ask \
	tests/host/unit_doctor_read \
	tests/core/unit_env \
	tests/core/unit_env_array \
	tests/host/unit_binding \
	tests/host/unit_facts \
	tests/host/unit_installed \
	tests/core/unit_flow \
	tests/core/unit_halo_grid \
	tests/core/unit_idlist \
	tests/host/unit_launcher \
	tests/core/unit_layout \
	tests/core/unit_list \
	tests/host/unit_mps \
	tests/host/unit_nvidia \
	tests/host/unit_nvml \
	tests/core/unit_optimal \
	tests/core/unit_order \
	tests/host/unit_pci_tree \
	tests/core/unit_properties \
	tests/host/unit_rendezvous \
	tests/plugin/unit_cpu_exchange \
	tests/core/unit_render \
	tests/core/unit_sets \
	tests/core/unit_trace \
	tests/core/unit_variables \
	tests/core/unit_visible_write \
	tests/core/unit_visible_read \
	tests/core/unit_xml
# Parts of discover.so.
tests_host_unit_complete_SOURCES = tests/host/unit_complete.c tests/tap.h \
	src/core/topo/node_from_hwloc.c src/core/topo/node_from_hwloc_cores.c \
	src/core/topo/node_from_hwloc_gpus.c src/core/topo/node_from_hwloc_pci.c src/host/discover/hwloc_complete.c
tests_host_unit_complete_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
tests_host_unit_complete_LDADD = src/core/libgpubind-core.la $(HWLOC_LIBS)
tests_host_unit_pci_tree_SOURCES = tests/host/unit_pci_tree.c tests/tap.h \
	src/host/discover/hwloc_pci.c src/host/discover/hwloc_pci.h src/host/sys/sysroot.c src/host/sys/sysroot.h
tests_host_unit_pci_tree_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
tests_host_unit_pci_tree_LDADD = src/core/libgpubind-core.la $(HWLOC_LIBS)
tests_core_unit_trace_CFLAGS = $(AM_CFLAGS) -pthread
tests_core_unit_trace_SOURCES = tests/core/unit_trace.c tests/tap.h
tests_core_unit_base_SOURCES = tests/core/unit_base.c tests/tap.h
tests_host_unit_discover_subprocess_SOURCES = tests/host/unit_discover_subprocess.c $(test_cases)
# The pure parts of gpubind-bench report, which need no MPI.
tests_bench_unit_bench_roofline_SOURCES = tests/bench/unit_bench_roofline.c tests/tap.h \
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
tests_bench_unit_bench_roofline_LDADD = src/core/libgpubind-core.la -lm
tests_bench_unit_bench_table_SOURCES = tests/bench/unit_bench_table.c tests/tap.h \
	bench/output/table.c bench/output/table.h bench/output/table_print.c
tests_bench_unit_bench_table_LDADD = src/core/libgpubind-core.la
tests_core_unit_doctor_SOURCES = tests/core/unit_doctor.c tests/core/doctor_machine.h tests/tap.h
tests_core_unit_doctor_nodes_SOURCES = tests/core/unit_doctor_nodes.c tests/tap.h
tests_host_unit_doctor_ask_SOURCES = tests/host/unit_doctor_ask.c tests/tap.h
EXTRA_tests_host_unit_doctor_ask_DEPENDENCIES = tests/nvml/libnvmlfaulty.la
# With another libdir than this build has.
tests_host_unit_installed_SOURCES = tests/host/unit_installed.c tests/tap.h \
	src/host/sys/installed.c src/host/sys/installed.h
tests_host_unit_installed_CPPFLAGS = $(AM_CPPFLAGS) -DLIBDIR='"/nowhere/lib/of-machine"' -DLIBDIR_NAME='"lib/of-machine"'
tests_host_unit_installed_LDADD =
tests_host_unit_doctor_read_SOURCES = tests/host/unit_doctor_read.c tests/tap.h
tests_core_unit_env_SOURCES = tests/core/unit_env.c $(test_cases)
tests_core_unit_env_array_SOURCES = tests/core/unit_env_array.c tests/tap.h
tests_host_unit_binding_SOURCES = tests/host/unit_binding.c tests/tap.h
tests_host_unit_facts_SOURCES = tests/host/unit_facts.c tests/tap.h
tests_core_unit_flow_SOURCES = tests/core/unit_flow.c tests/tap.h
tests_core_unit_halo_grid_SOURCES = tests/core/unit_halo_grid.c tests/tap.h
tests_core_unit_elf_SOURCES = tests/core/unit_elf.c tests/tap.h
tests_core_unit_idlist_SOURCES = tests/core/unit_idlist.c tests/tap.h
tests_host_unit_launcher_SOURCES = tests/host/unit_launcher.c tests/tap.h
tests_core_unit_layout_SOURCES = tests/core/unit_layout.c tests/tap.h
tests_core_unit_list_SOURCES = tests/core/unit_list.c tests/tap.h
tests_host_unit_mps_SOURCES = tests/host/unit_mps.c $(test_cases)
tests_host_unit_nvidia_SOURCES = tests/host/unit_nvidia.c $(test_cases)
tests_host_unit_nvml_SOURCES = tests/host/unit_nvml.c $(test_cases)
EXTRA_tests_host_unit_nvml_DEPENDENCIES = tests/nvml/libnvmlfaulty.la
tests_core_unit_optimal_SOURCES = tests/core/unit_optimal.c $(test_cases)
tests_core_unit_order_SOURCES = tests/core/unit_order.c $(test_cases)
tests_core_unit_properties_SOURCES = tests/core/unit_properties.c $(test_cases)
tests_host_unit_rendezvous_SOURCES = tests/host/unit_rendezvous.c tests/host/ranks.h tests/tap.h
tests_plugin_unit_cpu_exchange_SOURCES = tests/plugin/unit_cpu_exchange.c tests/host/ranks.h tests/tap.h \
	plugin/cpu_exchange.c plugin/cpu_exchange.h
tests_plugin_unit_cpu_exchange_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
tests_core_unit_render_SOURCES = tests/core/unit_render.c $(test_cases)
tests_core_unit_sets_SOURCES = tests/core/unit_sets.c $(test_cases)
tests_core_unit_variables_SOURCES = tests/core/unit_variables.c tests/tap.h
tests_core_unit_visible_write_SOURCES = tests/core/unit_visible_write.c $(test_cases)
tests_core_unit_visible_read_SOURCES = tests/core/unit_visible_read.c $(test_cases)
tests_core_unit_xml_SOURCES = tests/core/unit_xml.c $(test_cases)

if HAVE_MPI
check_PROGRAMS += tests/mpi/unit_layouts
endif
tests_mpi_unit_layouts_SOURCES = tests/mpi/unit_layouts.c tests/tap.h src/mpi/datatype/strided.c
tests_mpi_unit_layouts_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)

# By hand: make tests/core/bench_plan && tests/core/bench_plan
EXTRA_PROGRAMS = tests/core/bench_plan
tests_core_bench_plan_SOURCES = tests/core/bench_plan.c $(test_cases)
CLEANFILES += tests/core/bench_plan

include tests/fuzz/local.mk
include tests/nvml/local.mk
include tests/sim/local.mk
include tests/exchange/local.mk
include tests/aware/local.mk
include tests/mpi/local.mk
include tests/plugin/local.mk
include tests/trust/local.mk

TESTS += $(shell_tests) $(check_PROGRAMS)
# What a test has said stays when it is cut off.
.PRECIOUS: $(TEST_LOGS)

# What a newcomer waits for: each module once, with mpirun and simulated GPUs, within three
# minutes on two cores.
quick_tests = \
	tests/arrows.t \
	tests/aware/layouts.t \
	tests/bench/bench_p2p.t \
	tests/bench/plot.t \
	tests/bin/cli_bad_files.t \
	tests/bin/cli_exec.t \
	tests/bin/doctor.t \
	tests/bin/doctor_nodes.t \
	tests/bin/gpu_aware.t \
	tests/bin/help_man.t \
	tests/bin/list.t \
	tests/bin/plan.t \
	tests/bin/run_binding.t \
	tests/bin/run_mig.t \
	tests/bin/run_vendors.t \
	tests/bin/run_visible.t \
	tests/bin/variables.t \
	tests/core/core_pure.t \
	tests/docs.t \
	tests/examples.t \
	tests/html.t \
	tests/gpu/exchange.t \
	tests/mpi/lib_comms.t \
	tests/mpi/lib_errors.t \
	tests/mpi/lib_exports.t \
	tests/mpi/lib_halo.t \
	tests/mpi/lib_matching.t \
	tests/mpi/lib_order.t \
	tests/mpi/lib_probe.t \
	tests/mpi/lib_pt2pt.t \
	tests/mpi/lib_shm.t \
	tests/mpi/lib_stream.t \
	tests/mpi/lib_types.t \
	tests/mpi/lib_windows.t \
	tests/plugin/plugin_mpi.t \
	tests/plugin/plugin_mps.t \
	tests/symbols.t \
	tests/tutorial.t \
	$(check_PROGRAMS)

# What runs under sanitizers in the time that .ci/run has, of a tarball: without those that measure, print usage, or read
# manual pages, logs and XML files, which the fuzzers read, and without three that take minutes there.
sanitized_tests = $(check_PROGRAMS) $(filter-out \
	tests/aware/direct.t \
	tests/aware/large.t \
	tests/bench/bench_% \
	tests/bench/plot_trace.t \
	tests/bin/cli_bad_xml.t \
	tests/bin/cli_usage.t \
	tests/bin/completion.t \
	tests/bin/plan_xml.t \
	tests/bin/prefix.t \
	tests/bin/run_mps.t \
	tests/mpi/jacobi.t \
	tests/mpi/lib_log.t \
	tests/mpi/lib_man.t \
	tests/mpi/lib_nvtx.t \
	tests/mpi/windows_gpu.t \
	tests/plugin/plugin_man.t \
	tests/plugin/plugin_server.t \
	tests/symbols.t \
	,$(shell_tests))

# What the quick ones run, of the programs that are no tests themselves.
quick_data = $(filter tests/aware/layouts tests/exchange/exchange tests/mpi/ranks,$(test_programs))

check-quick-programs:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS= check_DATA='$(quick_data)'
check-quick:
	GPUBIND_TEST_QUICK=2 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(quick_tests)' \
		check_DATA='$(quick_data)'
.PHONY: check-quick check-quick-programs
EXTRA_DIST += $(shell_tests) $(test_data) \
	tests/apps/apps.sh \
	tests/apps/cloverleaf.sh \
	tests/apps/cuda_aware_mpi_example.sh \
	tests/apps/heat.sh \
	tests/apps/heffte.sh \
	tests/apps/multi_gpu_programming_models.sh \
	tests/apps/pylops_mpi.sh \
	tests/apps/spfft.sh \
	tests/apps/tealeaf.sh \
	tests/bench/beside.py \
	tests/bench/launch.py \
	tests/bench/nccl.c \
	tests/bench/on_gpus tests/bench/soak \
	tests/bench/plan.sh \
	tests/bench.sh \
	tests/completion.py \
	tests/debian13 \
	tests/mpich_suite/gpu_malloc.c tests/mpich_suite/gpu_malloc.h \
	tests/mpich_suite/run \
	tests/mpis \
	tests/driver.sh \
	tests/goldens.sh \
	tests/lib.sh \
	tests/mps.sh \
	tests/nodes.sh \
	tests/packaging/installed.sh \
	tests/packaging/packages \
	tests/packaging/wheel \
	tests/packaging/wheel_used.sh \
	tests/plugin.sh \
	tests/ranks.sh \
	tests/root.sh \
	tests/slurm.sh

check_PROGRAMS += tests/mpi/unit_handover
tests_mpi_unit_handover_SOURCES = tests/mpi/unit_handover.c tests/tap.h src/mpi/shm/fd_exchange.c \
	src/mpi/shm/fd_exchange.h
