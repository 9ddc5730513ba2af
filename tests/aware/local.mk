# libgpubind-aware: programs that pass GPU memory to MPI.
aware_tests = \
	tests/aware/functions.t
shell_tests += $(aware_tests)
EXTRA_DIST += \
	tests/aware/functions.sh \
	tests/aware/functions.tsv
