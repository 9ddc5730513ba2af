# Exchanges between two processes, with the library's src/gpu linked in. It is no
# check_PROGRAM: tests/gpu/exchange.t runs it on the simulated driver and on GPUs.
EXTRA_PROGRAMS += tests/exchange/exchange
test_programs += tests/exchange/exchange
CLEANFILES += tests/exchange/exchange
tests_exchange_exchange_SOURCES = \
	tests/exchange/exchange.c \
	tests/exchange/scene.c tests/exchange/scene.h \
	tests/exchange/side.c tests/exchange/side.h \
	tests/tap.h
if !HAVE_NVCC
tests_exchange_exchange_SOURCES += tests/exchange/image.c
endif
tests_exchange_exchange_LDADD = src/gpu/libgpubind-gpu.la src/core/libgpubind-core.la
shell_tests += tests/gpu/exchange.t

# Likewise the reduction kernel, by tests/gpu/reduce.t.
EXTRA_PROGRAMS += tests/gpu/reduce
test_programs += tests/gpu/reduce
CLEANFILES += tests/gpu/reduce
tests_gpu_reduce_SOURCES = tests/gpu/reduce.c tests/tap.h
if !HAVE_NVCC
tests_gpu_reduce_SOURCES += tests/exchange/image.c
endif
tests_gpu_reduce_LDADD = src/gpu/libgpubind-gpu.la src/core/libgpubind-core.la
shell_tests += tests/gpu/reduce.t

# By hand, on a machine with two GPUs: make tests/bench/exchange && tests/bench/exchange
EXTRA_PROGRAMS += tests/bench/exchange
CLEANFILES += tests/bench/exchange
tests_bench_exchange_SOURCES = \
	tests/bench/exchange.c \
	tests/exchange/scene.h \
	tests/exchange/side.c tests/exchange/side.h
tests_bench_exchange_LDADD = src/gpu/libgpubind-gpu.la src/core/libgpubind-core.la
