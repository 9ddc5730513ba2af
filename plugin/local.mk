# The PMIx component. Headers of PMIx define PACKAGE_VERSION themselves, so our version
# comes by another name.
if HAVE_PMIX
pmixplugin_LTLIBRARIES = plugin/pmix_mca_pmdl_gpubind.la
endif

# PMIx takes every file that begins like a component for one; objects must not.
plugin_pmix_mca_pmdl_gpubind_la_SHORTNAME = gpubind
plugin_pmix_mca_pmdl_gpubind_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS) $(PMIX_CPPFLAGS) \
	-DGPUBIND_VERSION='"$(PACKAGE_VERSION)"' -DGPUBIND_PMIX_VERSION='"$(pmix_version)"'
plugin_pmix_mca_pmdl_gpubind_la_CFLAGS = $(AM_CFLAGS) $(HIDDEN_CFLAGS) \
	-Werror=implicit-function-declaration
# One symbol is promised; all that is used must be there when it is loaded.
plugin_pmix_mca_pmdl_gpubind_la_LDFLAGS = -module -avoid-version -shared \
	-export-symbols-regex '^pmix_mca_pmdl_gpubind_component$$' -Wl,-z,defs
plugin_pmix_mca_pmdl_gpubind_la_LIBADD = \
	src/host/libgpubind-host.la src/core/libgpubind-core.la $(PMIX_LIBS) $(HWLOC_LIBS)
plugin_pmix_mca_pmdl_gpubind_la_SOURCES = \
	plugin/component.c plugin/component.h \
	plugin/cpu_exchange.c plugin/cpu_exchange.h \
	plugin/job_info.c plugin/job_info.h \
	plugin/settings.c plugin/settings.h \
	plugin/slurm.c plugin/slurm.h \
	plugin/job.h \
	plugin/job_aware.c \
	plugin/job_plan.c plugin/job_plan.h \
	plugin/job_taken.c \
	plugin/job_visible.c \
	plugin/jobs.c plugin/jobs.h \
	plugin/upcalls.c \
	src/core/topo/hwloc_versions.h \
	src/core/topo/node_from_hwloc.c src/core/topo/node_from_hwloc.h \
	src/core/topo/node_from_hwloc_cores.c src/core/topo/node_from_hwloc_gpus.c \
	src/core/topo/node_from_hwloc_pci.c src/core/topo/node_from_hwloc_pci.h

# The relay for Slurm; slurmstepd has what it calls.
if HAVE_SLURM
pkglib_LTLIBRARIES += plugin/spank_gpubind.la
endif
plugin_spank_gpubind_la_CPPFLAGS = $(SLURM_CPPFLAGS) -D_GNU_SOURCE
plugin_spank_gpubind_la_CFLAGS = $(AM_CFLAGS)
plugin_spank_gpubind_la_LDFLAGS = -module -avoid-version -shared \
	-export-symbols-regex '^(slurm_spank_.*|plugin_name|plugin_type|plugin_version|spank_plugin_version)$$'
plugin_spank_gpubind_la_SOURCES = plugin/spank_gpubind.c
