# The CUDA driver, opened at run time; nothing links against libcuda. The kernels
# are compiled when nvcc is there, and lie in the library as data.
noinst_LTLIBRARIES += src/cuda/libgpubind-cuda.la

src_cuda_libgpubind_cuda_la_CFLAGS = $(AM_CFLAGS) $(HIDDEN_CFLAGS)
src_cuda_libgpubind_cuda_la_SOURCES = \
	src/cuda/agent.c src/cuda/agent.h src/cuda/agent_kernel.h \
	src/cuda/copies.c src/cuda/copies.h \
	src/cuda/copy_kernel.h \
	src/cuda/driver.c src/cuda/driver.h \
	src/cuda/driver_api.h \
	src/cuda/exchange.c src/cuda/exchange.h \
	src/cuda/exchange_kernel.h \
	src/cuda/exchange_launch.c src/cuda/exchange_launch.h \
	src/cuda/exchange_operations.c src/cuda/exchange_ways.h \
	src/cuda/exchange_word.h \
	src/cuda/gather.c src/cuda/gather.h src/cuda/gather_kernel.h \
	src/cuda/gpu.c src/cuda/gpu.h \
	src/cuda/holds.c src/cuda/holds.h \
	src/cuda/kernel_image.h \
	src/cuda/kernels.c src/cuda/kernels.h \
	src/cuda/layout_copy.c \
	src/cuda/mappings.c src/cuda/mappings.h \
	src/cuda/memory.c src/cuda/memory.h \
	src/cuda/page_locked.c src/cuda/page_locked.h \
	src/cuda/shape.c src/cuda/shape.h \
	src/cuda/shareable.c src/cuda/shareable.h \
	src/cuda/shape_copy.c src/cuda/shape_copy.h \
	src/cuda/synchronous.c src/cuda/synchronous.h \
	src/cuda/words.c src/cuda/words.h
kernel_code = src/cuda/kernels.cu src/cuda/copy_kernel.cu src/cuda/exchange_kernel.cu \
	src/cuda/gather_kernel.cu src/cuda/agent_kernel.cu
EXTRA_DIST += $(kernel_code) src/cuda/README.md

if HAVE_NVCC
nodist_src_cuda_libgpubind_cuda_la_SOURCES = src/cuda/kernel_built.c
else
src_cuda_libgpubind_cuda_la_SOURCES += src/cuda/kernel_none.c
endif

src/cuda/kernel_built.c: $(kernel_code) src/cuda/copy_kernel.h src/cuda/exchange_kernel.h \
	src/cuda/exchange_word.h \
		src/cuda/gather_kernel.h src/cuda/agent_kernel.h
	$(AM_V_at)$(MKDIR_P) src/cuda
	$(AM_V_GEN)$(NVCC) $(NVCC_CODE) -fatbin -I$(top_srcdir)/src -o src/cuda/kernels.fatbin \
		$(top_srcdir)/src/cuda/kernels.cu && \
	{ echo '#include "cuda/kernel_image.h"'; \
	  echo 'static _Alignas(8) const unsigned char bytes[] = {'; \
	  od -An -v -tx1 src/cuda/kernels.fatbin | sed 's/ \(..\)/0x\1,/g'; \
	  echo '};'; echo 'const void *const kernel_image = bytes;'; } >$@.new && mv $@.new $@
CLEANFILES += src/cuda/kernel_built.c src/cuda/kernel_built.c.new src/cuda/kernels.fatbin
