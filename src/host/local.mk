# Effects on this machine: topology, launcher environment, binding, exec.
noinst_LTLIBRARIES += src/host/libgpubind-host.la

# Where the plugin goes, when it is built.
if HAVE_PMIX
plugin_place = -DPMIXPLUGINDIR='"$(pmixplugindir)"'
endif

src_host_libgpubind_host_la_CPPFLAGS = $(AM_CPPFLAGS) -DPKGLIBDIR='"$(pkglibdir)"' $(plugin_place)
src_host_libgpubind_host_la_SOURCES = \
	src/host/annotate.h \
	src/host/apart.c src/host/apart.h \
	src/host/bind.c src/host/bind.h \
	src/host/binding_policy.c src/host/binding_policy.h \
	src/host/child.c src/host/child.h \
	src/host/discover.h \
	src/host/discover_apart.c src/host/discover_apart.h \
	src/host/doctor_bus.c \
	src/host/doctor_driver.c \
	src/host/doctor_hwloc.c \
	src/host/doctor_limits.c \
	src/host/doctor_mpi.c \
	src/host/doctor_nvml.c \
	src/host/doctor_read.c src/host/doctor_read.h \
	src/host/env_array.c src/host/env_array.h \
	src/host/facts_check.c \
	src/host/file.c src/host/file.h \
	src/host/file_write.c src/host/file_write.h \
	src/host/launcher.c src/host/launcher.h \
	src/host/loader.c src/host/loader.h \
	src/host/map.c src/host/map.h \
	src/host/meet.c src/host/meet.h \
	src/host/meet_lead.c src/host/meet_lead.h \
	src/host/mps.c src/host/mps.h \
	src/host/mps_control.c src/host/mps_control.h \
	src/host/mps_folder.c src/host/mps_folder.h \
	src/host/mps_keeper.c src/host/mps_keeper.h \
	src/host/mps_served.c src/host/mps_served.h \
	src/host/nvidia.c src/host/nvidia.h \
	src/host/nvml.c src/host/nvml.h \
	src/host/nvml_api.h \
	src/host/option_rows.c src/host/option_rows.h \
	src/host/option_values.c src/host/option_values.h \
	src/host/options.h \
	src/host/orders.c src/host/orders.h \
	src/host/placement.c src/host/placement.h \
	src/host/plugin_file.c src/host/plugin_file.h \
	src/host/plugin_places.c src/host/plugin_places.h \
	src/host/pmix_setting.c src/host/pmix_setting.h \
	src/host/process.c src/host/process.h \
	src/host/rooted.c src/host/rooted.h \
	src/host/siblings.c src/host/siblings.h \
	src/host/sight.c src/host/sight.h \
	src/host/topology.c src/host/topology.h

# Discovery by hwloc, which only one rank of a node loads.
pkglib_LTLIBRARIES += src/host/discover.la

src_host_discover_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
src_host_discover_la_LDFLAGS = -module -avoid-version -shared -export-symbols-regex '^gpubind_(discover|annotate)$$'
src_host_discover_la_LIBADD = src/core/libgpubind-core.la $(HWLOC_LIBS)
src_host_discover_la_SOURCES = \
	src/core/node_from_hwloc_names.h \
	src/core/node_from_hwloc.c src/core/node_from_hwloc.h \
	src/core/node_from_hwloc_cores.c src/core/node_from_hwloc_gpus.c \
	src/core/node_from_hwloc_parts.c src/core/node_from_hwloc_parts.h \
	src/host/annotate.c \
	src/host/discover.c \
	src/host/hwloc_complete.c src/host/hwloc_complete.h \
	src/host/hwloc_init.h \
	src/host/hwloc_pci.c src/host/hwloc_pci.h \
	src/host/rooted.c src/host/rooted.h
