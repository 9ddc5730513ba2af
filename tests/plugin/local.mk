# A PMIx server for tests of the plugin, which needs PMIx's public headers only. It is no
# check_PROGRAM: those run by themselves. -rdynamic: its malloc stands before libc's.
EXTRA_PROGRAMS += tests/plugin/server
if HAVE_PMIX
test_programs += tests/plugin/server
endif
CLEANFILES += tests/plugin/server

tests_plugin_server_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CPPFLAGS)
tests_plugin_server_CFLAGS = $(AM_CFLAGS) -pthread
tests_plugin_server_LDFLAGS = -no-install -rdynamic
tests_plugin_server_LDADD = $(PMIX_LIBS)
tests_plugin_server_SOURCES = \
	tests/plugin/server.c tests/plugin/server.h \
	tests/plugin/server_application.c \
	tests/plugin/server_blocks.c \
	tests/plugin/server_campaign.c \
	tests/plugin/server_client.c \
	tests/plugin/server_compare.c \
	tests/plugin/server_describe.c \
	tests/plugin/server_fork.c \
	tests/plugin/server_infos.c \
	tests/plugin/server_key.c \
	tests/plugin/server_memory.c \
	tests/plugin/server_nspace.c \
	tests/plugin/server_pmix.c \
	tests/plugin/server_report.c \
	tests/plugin/server_script.c \
	tests/plugin/server_streams.c \
	tests/plugin/server_supervise.c \
	tests/plugin/server_watch.c \
	tests/plugin/server_words.c

EXTRA_DIST += tests/plugin/scripts
