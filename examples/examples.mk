# Programs of the library. tests/lib_examples.t runs them; tests/lib_fortran.t compiles
# and runs those in Fortran.
if HAVE_MPI
noinst_PROGRAMS += \
	examples/any_source \
	examples/jacobi/jacobi \
	examples/legacy_after \
	examples/legacy_before \
	examples/neighbors \
	examples/overlap
if HAVE_NCCL
noinst_PROGRAMS += examples/nccl_beside
endif
endif

# They include <gpubind.h>, as if it were installed.
example_cppflags = -D_GNU_SOURCE -I$(top_srcdir)/src/mpi
example_cflags = $(WARN_CFLAGS) $(SAN_CFLAGS) $(MPI_CFLAGS)
example_libs = src/mpi/libgpubind.la $(MPI_LIBS)

examples_any_source_CPPFLAGS = $(example_cppflags)
examples_any_source_CFLAGS = $(example_cflags)
examples_any_source_LDADD = $(example_libs)
examples_any_source_SOURCES = examples/any_source.c examples/device.h

examples_jacobi_jacobi_CPPFLAGS = $(example_cppflags) -I$(top_srcdir)/examples/jacobi
examples_jacobi_jacobi_CFLAGS = $(example_cflags) -pthread
examples_jacobi_jacobi_LDADD = $(example_libs) -lm
examples_jacobi_jacobi_SOURCES = \
	examples/jacobi/check.c examples/jacobi/check.h \
	examples/jacobi/compute.h \
	examples/jacobi/compute_gpu.c \
	examples/jacobi/compute_host.c \
	examples/jacobi/gpu.c examples/jacobi/gpu.h \
	examples/jacobi/gpu_calls.c examples/jacobi/gpu_calls.h \
	examples/jacobi/graph.c examples/jacobi/graph.h \
	examples/jacobi/jacobi.c \
	examples/jacobi/kernels.h \
	examples/jacobi/norms.c examples/jacobi/norms.h \
	examples/jacobi/options.c examples/jacobi/options.h \
	examples/jacobi/progress.c examples/jacobi/progress.h \
	examples/jacobi/relax.c examples/jacobi/relax.h \
	examples/jacobi/report.c examples/jacobi/report.h \
	examples/jacobi/run.c examples/jacobi/run.h \
	examples/jacobi/strip.c examples/jacobi/strip.h \
	examples/jacobi/timeline.c examples/jacobi/timeline.h \
	examples/jacobi/versions.c examples/jacobi/versions.h

# Its kernels lie in it as data, where nvcc is.
if HAVE_NVCC
nodist_examples_jacobi_jacobi_SOURCES = examples/jacobi/kernels_built.c
else
examples_jacobi_jacobi_SOURCES += examples/jacobi/kernels_none.c
endif

examples/jacobi/kernels_built.c: examples/jacobi/kernels.cu examples/jacobi/kernels.h
	$(AM_V_at)$(MKDIR_P) examples/jacobi
	$(AM_V_GEN)$(NVCC) $(NVCC_CODE) -fatbin -o examples/jacobi/kernels.fatbin \
		$(top_srcdir)/examples/jacobi/kernels.cu && \
	{ echo '#include "kernels.h"'; \
	  echo 'static _Alignas(8) const unsigned char bytes[] = {'; \
	  od -An -v -tx1 examples/jacobi/kernels.fatbin | sed 's/ \(..\)/0x\1,/g'; \
	  echo '};'; echo 'const void *const kernels_image = bytes;'; } >$@.new && mv $@.new $@
CLEANFILES += examples/jacobi/kernels_built.c examples/jacobi/kernels_built.c.new \
	examples/jacobi/kernels.fatbin

examples_legacy_after_CPPFLAGS = $(example_cppflags)
examples_legacy_after_CFLAGS = $(example_cflags)
examples_legacy_after_LDADD = $(example_libs)
examples_legacy_after_SOURCES = examples/legacy_after.c examples/device.h

examples_legacy_before_CPPFLAGS = $(example_cppflags)
examples_legacy_before_CFLAGS = $(example_cflags)
examples_legacy_before_LDADD = $(MPI_LIBS)
examples_legacy_before_SOURCES = examples/legacy_before.c examples/device.h

examples_nccl_beside_CPPFLAGS = $(example_cppflags) $(CUDA_CPPFLAGS)
examples_nccl_beside_CFLAGS = $(example_cflags)
examples_nccl_beside_LDADD = $(example_libs) $(NCCL_LIBS)
examples_nccl_beside_SOURCES = examples/nccl_beside.c examples/device.h

examples_neighbors_CPPFLAGS = $(example_cppflags)
examples_neighbors_CFLAGS = $(example_cflags)
examples_neighbors_LDADD = $(example_libs)
examples_neighbors_SOURCES = examples/neighbors.c examples/device.h

examples_overlap_CPPFLAGS = $(example_cppflags)
examples_overlap_CFLAGS = $(example_cflags)
examples_overlap_LDADD = $(example_libs)
examples_overlap_SOURCES = examples/overlap.c examples/device.h

TESTS += tests/jacobi.t tests/lib_examples.t
EXTRA_DIST += \
	examples/device.f90 \
	examples/jacobi/Makefile \
	examples/jacobi/README \
	examples/jacobi/kernels.cu \
	examples/jacobi/kernels_none.c \
	examples/jacobi/plot.py \
	examples/legacy_after.f90 \
	examples/legacy_before.f90 \
	tests/jacobi.t \
	tests/jacobi/results.csv \
	tests/jacobi/timeline.csv \
	tests/lib_examples.t
