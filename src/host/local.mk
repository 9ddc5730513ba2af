# Effects on this machine: topology, launcher environment, binding, exec.
noinst_LTLIBRARIES += src/host/libgpubind-host.la

# Where the plugin goes, when it is built.
if HAVE_PMIX
plugin_place = -DPMIXPLUGINDIR='"$(pmixplugindir)"'
endif

src_host_libgpubind_host_la_CPPFLAGS = $(AM_CPPFLAGS) -DPKGLIBDIR='"$(pkglibdir)"' -DLIBDIR='"$(libdir)"' \
	-DLIBDIR_NAME='"$(libdir_name)"' $(plugin_place)
src_host_libgpubind_host_la_SOURCES = \
	src/host/discover/discover.h \
	src/host/discover/discover_subprocess.c src/host/discover/discover_subprocess.h \
	src/host/discover/hwloc_subprocess.c src/host/discover/hwloc_subprocess.h \
	src/host/discover/lstopo_export.h \
	src/host/discover/nvidia.c src/host/discover/nvidia.h \
	src/host/discover/nvml.c src/host/discover/nvml.h \
	src/host/discover/nvml_api.h \
	src/host/discover/topology.c src/host/discover/topology.h \
	src/host/doctor/collect.c src/host/doctor/collect.h \
	src/host/doctor/collect_daemons.c \
	src/host/doctor/collect_driver.c \
	src/host/doctor/collect_limits.c \
	src/host/doctor/collect_log.c \
	src/host/doctor/doctor_bus.c \
	src/host/doctor/doctor_hwloc.c \
	src/host/doctor/doctor_mpi.c \
	src/host/doctor/doctor_nvml.c \
	src/host/launch/binding_policy.c src/host/launch/binding_policy.h \
	src/host/launch/gpu_aware.c src/host/launch/gpu_aware.h \
	src/host/launch/launcher.c src/host/launch/launcher.h \
	src/host/launch/node_rendezvous.c src/host/launch/node_rendezvous.h \
	src/host/launch/node_rendezvous_leader.c src/host/launch/node_rendezvous_leader.h \
	src/host/launch/option_table.c \
	src/host/launch/options.c src/host/launch/options.h \
	src/host/launch/placement.c src/host/launch/placement.h \
	src/host/launch/rank_directives.c src/host/launch/rank_directives.h \
	src/host/launch/rank_facts.c \
	src/host/launch/sibling_ranks.c src/host/launch/sibling_ranks.h \
	src/host/launch/visible_gpus.c src/host/launch/visible_gpus.h \
	src/host/mps/mps.c src/host/mps/mps.h \
	src/host/mps/mps_control.c src/host/mps/mps_control.h \
	src/host/mps/mps_dir.c src/host/mps/mps_dir.h \
	src/host/mps/mps_supervisor.c src/host/mps/mps_supervisor.h \
	src/host/pmix/job_meeting.c src/host/pmix/job_meeting.h \
	src/host/pmix/mca_param.c src/host/pmix/mca_param.h \
	src/host/pmix/pmix_api.h \
	src/host/pmix/plugin_file.c src/host/pmix/plugin_file.h \
	src/host/pmix/plugin_search.c src/host/pmix/plugin_search.h \
	src/host/sys/bind.c src/host/sys/bind.h \
	src/host/sys/env_array.c src/host/sys/env_array.h \
	src/host/sys/file.c src/host/sys/file.h \
	src/host/sys/installed.c src/host/sys/installed.h \
	src/host/sys/ld_search.c src/host/sys/ld_search.h \
	src/host/sys/listener.c src/host/sys/listener.h \
	src/host/sys/process.c src/host/sys/process.h \
	src/host/sys/subprocess.c src/host/sys/subprocess.h \
	src/host/sys/sysroot.c src/host/sys/sysroot.h

# Discovery by hwloc, which only one rank of a node loads.
pkglib_LTLIBRARIES += src/host/discover.la

src_host_discover_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
src_host_discover_la_LDFLAGS = -module -avoid-version -shared -export-symbols-regex '^gpubind_(discover|annotate)$$'
src_host_discover_la_LIBADD = src/core/libgpubind-core.la $(HWLOC_LIBS)
src_host_discover_la_SOURCES = \
	src/core/topo/hwloc_versions.h \
	src/core/topo/node_from_hwloc.c src/core/topo/node_from_hwloc.h \
	src/core/topo/node_from_hwloc_cores.c src/core/topo/node_from_hwloc_gpus.c \
	src/core/topo/node_from_hwloc_pci.c src/core/topo/node_from_hwloc_pci.h \
	src/host/discover/lstopo_export.c \
	src/host/discover/discover.c \
	src/host/discover/hwloc_complete.c src/host/discover/hwloc_complete.h \
	src/host/discover/hwloc_init.h \
	src/host/discover/hwloc_pci.c src/host/discover/hwloc_pci.h \
	src/host/sys/sysroot.c src/host/sys/sysroot.h
