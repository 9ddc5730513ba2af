# What other users, the kernel and the loader may do to programs: see SECURITY.md.
shell_tests += \
	tests/trust/calls.t \
	tests/trust/others.t \
	tests/trust/rights.t
EXTRA_DIST += tests/trust/calls.tsv

# Started by the tests: a check_PROGRAM would run by itself.
EXTRA_PROGRAMS += tests/trust/refuse tests/trust/stranger
test_programs += tests/trust/refuse tests/trust/stranger
CLEANFILES += tests/trust/refuse tests/trust/stranger
tests_trust_refuse_SOURCES = tests/trust/refuse.c
tests_trust_refuse_LDADD =
tests_trust_stranger_SOURCES = tests/trust/stranger.c
