# gpubind-bench: an MPI program that measures libgpubind.
if HAVE_MPI
bin_PROGRAMS += bin/gpubind-bench
endif

bin_gpubind_bench_SOURCES = \
	bin/bench.c bin/bench.h \
	bin/bench_api.c bin/bench_api.h \
	bin/bench_area.c bin/bench_area.h \
	bin/bench_copy.c \
	bin/bench_first.c \
	bin/bench_gpu.c bin/bench_gpu.h \
	bin/bench_halo.c bin/bench_halo.h \
	bin/bench_halo_case.c \
	bin/bench_halo_sheet.c bin/bench_halo_sheet.h \
	bin/bench_help.c \
	bin/bench_host.c bin/bench_host.h \
	bin/bench_host_chunks.c \
	bin/bench_host_copy.c \
	bin/bench_host_form.c \
	bin/bench_host_numa.c \
	bin/bench_host_ranks.c \
	bin/bench_limit.c \
	bin/bench_limits.c bin/bench_limits.h \
	bin/bench_machine.c bin/bench_machine.h \
	bin/bench_kernels.h \
	bin/bench_launch.c bin/bench_launch.h \
	bin/bench_measure.c \
	bin/bench_modes.c bin/bench_modes.h \
	bin/bench_options.c bin/bench_options.h \
	bin/bench_output.c bin/bench_output.h \
	bin/bench_p2p.c bin/bench_p2p.h \
	bin/bench_p2p_copy.c \
	bin/bench_p2p_form.c \
	bin/bench_p2p_gpus.c \
	bin/bench_page.c bin/bench_page.h \
	bin/bench_peer.c \
	bin/bench_peer_sheet.c bin/bench_peer_sheet.h \
	bin/bench_plot.c \
	bin/bench_print.c bin/bench_print.h \
	bin/bench_pt2pt.c bin/bench_pt2pt.h \
	bin/bench_pt2pt_sheet.c \
	bin/bench_pt2pt_svg.c \
	bin/bench_put.c \
	bin/bench_put_sheet.c bin/bench_put_sheet.h \
	bin/bench_ranks.c bin/bench_ranks.h \
	bin/bench_report.c \
	bin/bench_result.h \
	bin/bench_rows.c bin/bench_rows.h \
	bin/bench_run.c bin/bench_run.h \
	bin/bench_series.c bin/bench_series.h \
	bin/bench_setup.c \
	bin/bench_sheet.c bin/bench_sheet.h \
	bin/bench_sheet_draw.c \
	bin/bench_sheet_heat.c \
	bin/bench_sheet_print.c \
	bin/bench_svg.c bin/bench_svg.h \
	bin/bench_sysfs.c bin/bench_sysfs.h \
	bin/bench_table.c bin/bench_table.h \
	bin/bench_task.c bin/bench_task.h \
	bin/bench_verdict.c bin/bench_verdict.h
bin_gpubind_bench_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bin_gpubind_bench_LDADD = \
	src/mpi/libgpubind.la \
	src/cuda/libgpubind-cuda.la \
	src/host/libgpubind-host.la \
	src/core/libgpubind-core.la \
	$(MPI_LIBS) -lm

# Its kernels, compiled when nvcc is there, lie in it as data.
EXTRA_DIST += bin/bench_kernels.cu
if HAVE_NVCC
nodist_bin_gpubind_bench_SOURCES = bin/bench_kernels_built.c
else
bin_gpubind_bench_SOURCES += bin/bench_kernels_none.c
endif

bin/bench_kernels_built.c: bin/bench_kernels.cu bin/bench_kernels.h src/mpi/gpubind_device.cuh
	$(AM_V_at)$(MKDIR_P) bin
	$(AM_V_GEN)$(NVCC) $(NVCC_CODE) -DNDEBUG -fatbin -I$(top_srcdir)/src -I$(top_srcdir) \
		-o bin/bench_kernels.fatbin $(top_srcdir)/bin/bench_kernels.cu && \
	{ echo '#include "bin/bench_launch.h"'; \
	  echo 'static _Alignas(8) const unsigned char bytes[] = {'; \
	  od -An -v -tx1 bin/bench_kernels.fatbin | sed 's/ \(..\)/0x\1,/g'; \
	  echo '};'; echo 'const void *const bench_kernel_image = bytes;'; } >$@.new && mv $@.new $@
CLEANFILES += bin/bench_kernels_built.c bin/bench_kernels_built.c.new bin/bench_kernels.fatbin
