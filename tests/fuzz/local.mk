# Parsers under bytes of any kind. tests/fuzz/replay runs with the other tests;
# tests/fuzz/run builds and runs tests/fuzz/fuzzer, which needs clang's libFuzzer.
fuzz_targets = \
	bench/lib/options.c bench/lib/options.h \
	bin/options.c bin/options.h \
	bin/plugin_plan.c bin/plugin_plan.h \
	plugin/settings.c plugin/settings.h \
	plugin/slurm.c plugin/slurm.h \
	src/core/topo/hwloc_versions.h \
	src/core/topo/node_from_hwloc.c src/core/topo/node_from_hwloc.h \
	src/core/topo/node_from_hwloc_cores.c src/core/topo/node_from_hwloc_gpus.c \
	src/core/topo/node_from_hwloc_pci.c src/core/topo/node_from_hwloc_pci.h \
	tests/cases.c tests/cases.h \
	tests/fuzz/bind.c \
	tests/fuzz/fuzz.h \
	tests/fuzz/mutate_xml.c \
	tests/fuzz/support.c \
	tests/fuzz/target_environment.c \
	tests/fuzz/target_files.c \
	tests/fuzz/target_layout.c \
	tests/fuzz/target_messages.c \
	tests/fuzz/target_text.c \
	tests/fuzz/target_xml.c \
	tests/fuzz/targets.c

check_PROGRAMS += tests/fuzz/replay
tests_fuzz_replay_SOURCES = tests/fuzz/replay.c tests/tap.h $(fuzz_targets)
tests_fuzz_replay_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
tests_fuzz_replay_LDADD = $(LDADD) $(HWLOC_LIBS)

EXTRA_PROGRAMS += tests/fuzz/fuzzer
tests_fuzz_fuzzer_SOURCES = tests/fuzz/fuzzer.c $(fuzz_targets)
tests_fuzz_fuzzer_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
tests_fuzz_fuzzer_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzzer_LDADD = $(LDADD) $(HWLOC_LIBS)
CLEANFILES += tests/fuzz/fuzzer

EXTRA_DIST += tests/fuzz/hours.tsv tests/fuzz/run tests/fuzz/corpus tests/fuzz/launcher.dict \
	tests/fuzz/options.dict tests/fuzz/xml.dict
