# The CUDA driver, opened at run time; nothing links against libcuda. The kernels
# are compiled when nvcc is there, and lie in the library as data.
noinst_LTLIBRARIES += src/gpu/libgpubind-gpu.la

src_gpu_libgpubind_gpu_la_CFLAGS = $(AM_CFLAGS) $(HIDDEN_CFLAGS)
src_gpu_libgpubind_gpu_la_SOURCES = \
	src/gpu/core/context_kernels.c src/gpu/core/context_kernels.h \
	src/gpu/core/deferred_free.c src/gpu/core/deferred_free.h \
	src/gpu/core/driver.c src/gpu/core/driver.h \
	src/gpu/core/driver_api.h \
	src/gpu/core/events.c src/gpu/core/events.h \
	src/gpu/core/gpu_calls.h \
	src/gpu/core/gpu_capture.c src/gpu/core/gpu_capture.h \
	src/gpu/core/gpu_context.c src/gpu/core/gpu_context.h \
	src/gpu/core/gpu_types.h \
	src/gpu/core/ipc_cache.c src/gpu/core/ipc_cache.h \
	src/gpu/core/kernels.c src/gpu/core/kernels.h \
	src/gpu/core/mem_query.c src/gpu/core/mem_query.h \
	src/gpu/core/page_locked.c src/gpu/core/page_locked.h \
	src/gpu/core/pointer_query.c src/gpu/core/pointer_query.h \
	src/gpu/core/gpu_stream.c src/gpu/core/gpu_stream.h \
	src/gpu/core/sync_memops.c src/gpu/core/sync_memops.h \
	src/gpu/core/vmm.c src/gpu/core/vmm.h \
	src/gpu/core/waiting_blocks.c src/gpu/core/waiting_blocks.h \
	src/gpu/copy/copy_agent.c src/gpu/copy/copy_agent.h \
	src/gpu/copy/copy_agent_instances.c \
	src/gpu/copy/copy_agent_internal.h \
	src/gpu/copy/copy_agent_kernel.h \
	src/gpu/copy/copy_batch.c src/gpu/copy/copy_batch.h \
	src/gpu/copy/copy_kernel.h \
	src/gpu/copy/iov_copy.c src/gpu/copy/iov_copy.h \
	src/gpu/copy/iov_copy_kernel.h \
	src/gpu/copy/iov_launch.c src/gpu/copy/iov_launch.h \
	src/gpu/copy/row_copy.c src/gpu/copy/row_copy.h \
	src/gpu/copy/strided_copy.c src/gpu/copy/strided_copy.h \
	src/gpu/copy/strided_copy_engine.c src/gpu/copy/strided_copy_engine.h \
	src/gpu/copy/strided_kernel.h \
	src/gpu/copy/strided_launch.c src/gpu/copy/strided_launch.h \
	src/gpu/copy/strided_levels.c src/gpu/copy/strided_levels.h \
	src/gpu/exchange/exchange.c src/gpu/exchange/exchange.h \
	src/gpu/exchange/exchange_backend.h \
	src/gpu/exchange/exchange_flag.h \
	src/gpu/exchange/exchange_kernel.h \
	src/gpu/exchange/exchange_deferred.c src/gpu/exchange/exchange_deferred.h \
	src/gpu/exchange/exchange_launch.c src/gpu/exchange/exchange_launch.h \
	src/gpu/exchange/exchange_memops.c \
	src/gpu/exchange/flag_ops.c src/gpu/exchange/flag_ops.h \
	src/gpu/exchange/gpu_flags.c src/gpu/exchange/gpu_flags.h \
	src/gpu/exchange/gpu_slots.c src/gpu/exchange/gpu_slots.h \
	src/gpu/exchange/signal_copy.c src/gpu/exchange/signal_copy.h \
	src/gpu/exchange/signal_kernel.h \
	src/gpu/reduce/reduce.c src/gpu/reduce/reduce.h \
	src/gpu/reduce/reduce_elements.h \
	src/gpu/reduce/reduce_kernel.h \
	src/gpu/reduce/reduce_share.h \
	src/gpu/kernel_image.h \
	src/gpu/kernel_table.c src/gpu/kernel_table.h
kernel_code = src/gpu/kernels.cu \
	src/gpu/copy/copy_agent_kernel.cu \
	src/gpu/copy/copy_kernel.cu \
	src/gpu/copy/iov_copy_kernel.cu \
	src/gpu/copy/strided_kernel.cu \
	src/gpu/exchange/exchange_kernel.cu \
	src/gpu/exchange/signal_kernel.cu \
	src/gpu/reduce/reduce_kernel.cu
EXTRA_DIST += $(kernel_code) src/gpu/README.md

if HAVE_NVCC
nodist_src_gpu_libgpubind_gpu_la_SOURCES = src/gpu/kernel_built.c
else
src_gpu_libgpubind_gpu_la_SOURCES += src/gpu/kernel_none.c
endif

src/gpu/kernel_built.c: $(kernel_code) \
		src/gpu/copy/copy_agent_kernel.h \
		src/gpu/copy/copy_kernel.h \
		src/gpu/copy/iov_copy_kernel.h \
		src/gpu/copy/strided_kernel.h \
		src/gpu/exchange/exchange_flag.h \
		src/gpu/exchange/exchange_kernel.h \
		src/gpu/exchange/signal_kernel.h \
		src/gpu/reduce/reduce_elements.h \
		src/gpu/reduce/reduce_kernel.h \
		src/gpu/reduce/reduce_share.h
	$(AM_V_at)$(MKDIR_P) src/gpu
	$(AM_V_GEN)$(NVCC) $(NVCC_CODE) --threads 0 -fatbin -I$(top_srcdir)/src -o src/gpu/kernels.fatbin \
		$(top_srcdir)/src/gpu/kernels.cu && \
	{ echo '#include "gpu/kernel_image.h"'; \
	  echo 'static _Alignas(8) const unsigned char bytes[] = {'; \
	  od -An -v -tx1 src/gpu/kernels.fatbin | sed 's/ \(..\)/0x\1,/g'; \
	  echo '};'; echo 'const void *const kernel_image = bytes;'; } >$@.new && mv $@.new $@
CLEANFILES += src/gpu/kernel_built.c src/gpu/kernel_built.c.new src/gpu/kernels.fatbin
