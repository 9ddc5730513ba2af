# All tests speak TAP. A shell test is an executable tests/NAME.t that ends up in
# shell_tests. A C test is tests/unit_NAME.c; it takes two lines:
#   check_PROGRAMS += tests/unit_NAME
#   tests_unit_NAME_SOURCES = tests/unit_NAME.c
# Recorded machines and expected outputs are data: what lies in test_data is shipped
# whole, a new file needs no line here.
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; \
	CC='$(CC)'; MPICC='$(MPICC)'; MPIRUN='$(MPIRUN)'; SANITIZED='$(SAN_CFLAGS)'; \
	export top_srcdir top_builddir CC MPICC MPIRUN SANITIZED;

TEST_EXTENSIONS = .t
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = $(LOG_DRIVER)

shell_tests = \
	tests/arrows.t \
	tests/core_pure.t

test_data = \
	tests/launch \
	tests/machines

if HAVE_CUDA_H
check_PROGRAMS += tests/abi_cuda
endif
tests_abi_cuda_SOURCES = tests/abi_cuda.c
tests_abi_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

if HAVE_NVML_H
check_PROGRAMS += tests/abi_nvml
endif
tests_abi_nvml_SOURCES = tests/abi_nvml.c
tests_abi_nvml_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

TESTS += $(shell_tests) $(check_PROGRAMS)
EXTRA_DIST += tests/lib.sh tests/bench/launch.py $(shell_tests) $(test_data)
