# gpubind-bench: an MPI program that measures libgpubind.
if HAVE_MPI
bin_PROGRAMS += bin/gpubind-bench
endif

bin_gpubind_bench_SOURCES = \
	bench/cases/cases.h \
	bench/cases/halo.c bench/cases/halo.h \
	bench/cases/halo_case.c \
	bench/cases/halo_schema.c bench/cases/halo_schema.h \
	bench/cases/host.c bench/cases/host.h \
	bench/cases/host_chunks.c \
	bench/cases/host_copy.c \
	bench/cases/host_numa.c \
	bench/cases/host_ranks.c \
	bench/cases/host_schema.c \
	bench/cases/p2p.c bench/cases/p2p.h \
	bench/cases/p2p_copy.c \
	bench/cases/p2p_gpus.c \
	bench/cases/p2p_schema.c \
	bench/cases/peer_kernel.c \
	bench/cases/peer_kernel_schema.c bench/cases/peer_kernel_schema.h \
	bench/cases/put.c \
	bench/cases/put_schema.c bench/cases/put_schema.h \
	bench/coll/coll.c bench/coll/coll.h \
	bench/coll/contents.c \
	bench/coll/measure.c \
	bench/coll/operations.c bench/coll/operations.h \
	bench/coll/schema.c bench/coll/schema.h \
	bench/coll/setup.c \
	bench/lib/buffer.c bench/lib/buffer.h \
	bench/lib/gpu.c bench/lib/gpu.h \
	bench/lib/kernel_launch.c bench/lib/kernel_launch.h \
	bench/lib/kernels.h \
	bench/lib/machine.c bench/lib/machine.h \
	bench/lib/nccl.c bench/lib/nccl.h \
	bench/lib/options.c bench/lib/options.h \
	bench/lib/peer_memory.c bench/lib/peer_memory.h \
	bench/lib/program.c bench/lib/program.h \
	bench/lib/ranks.c bench/lib/ranks.h \
	bench/lib/rounds.c bench/lib/rounds.h \
	bench/lib/stats.c bench/lib/stats.h \
	bench/lib/sysfs.c bench/lib/sysfs.h \
	bench/main/main.c \
	bench/main/peak.c \
	bench/main/peaks.c bench/main/peaks.h \
	bench/main/report.c \
	bench/main/roofline.c bench/main/roofline.h \
	bench/main/subcommands.c bench/main/subcommands.h \
	bench/output/output.c bench/output/output.h \
	bench/output/runner.c bench/output/runner.h \
	bench/output/table.c bench/output/table.h \
	bench/output/table_print.c \
	bench/pt2pt/api.c bench/pt2pt/api.h \
	bench/pt2pt/copy.c \
	bench/pt2pt/first_message.c \
	bench/pt2pt/measure.c \
	bench/pt2pt/pt2pt.c bench/pt2pt/pt2pt.h \
	bench/pt2pt/schema.c \
	bench/pt2pt/setup.c \
	bench/pt2pt/task.c bench/pt2pt/task.h \
	bench/stream/measure.c \
	bench/stream/schema.c bench/stream/schema.h \
	bench/stream/setup.c \
	bench/stream/stream.c bench/stream/stream.h \
	bench/stream/ways.c
bin_gpubind_bench_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bin_gpubind_bench_LDADD = \
	src/mpi/libgpubind.la \
	src/gpu/libgpubind-gpu.la \
	src/host/libgpubind-host.la \
	src/core/libgpubind-core.la \
	$(MPI_LIBS) -lm

# Its kernels, compiled when nvcc is there, lie in it as data.
EXTRA_DIST += bench/lib/kernels.cu
if HAVE_NVCC
nodist_bin_gpubind_bench_SOURCES = bench/lib/kernels_built.c
else
bin_gpubind_bench_SOURCES += bench/lib/kernels_none.c
endif

bench/lib/kernels_built.c: bench/lib/kernels.cu bench/lib/kernels.h src/mpi/gpubind_device.cuh
	$(AM_V_at)$(MKDIR_P) bench/lib
	$(AM_V_GEN)$(NVCC) $(NVCC_CODE) -DNDEBUG -fatbin -I$(top_srcdir)/src -I$(top_srcdir) \
		-o bench/lib/kernels.fatbin $(top_srcdir)/bench/lib/kernels.cu && \
	{ echo '#include "bench/lib/kernel_launch.h"'; \
	  echo 'static _Alignas(8) const unsigned char bytes[] = {'; \
	  od -An -v -tx1 bench/lib/kernels.fatbin | sed 's/ \(..\)/0x\1,/g'; \
	  echo '};'; echo 'const void *const bench_kernel_image = bytes;'; } >$@.new && mv $@.new $@
CLEANFILES += bench/lib/kernels_built.c bench/lib/kernels_built.c.new bench/lib/kernels.fatbin
