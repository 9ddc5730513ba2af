# Jacobi's method in five versions. README and Makefile are for those who copy the folder.
if HAVE_MPI
noinst_PROGRAMS += examples/jacobi/jacobi
endif

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

# The kernels lie in it as data, where nvcc is.
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

TESTS += tests/mpi/jacobi.t
EXTRA_DIST += \
	examples/jacobi/Makefile \
	examples/jacobi/README \
	examples/jacobi/kernels.cu \
	examples/jacobi/kernels_none.c \
	examples/jacobi/plot.py \
	tests/mpi/jacobi.t \
	tests/jacobi/results.csv \
	tests/jacobi/timeline.csv
