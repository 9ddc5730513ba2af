# What bash completes. The programs are run for it, so that their tables of options are
# the only ones.
nodist_completions_DATA = bin/completions/gpubind
if HAVE_MPI
nodist_completions_DATA += bin/completions/gpubind-bench
endif
nodist_completions_DATA += bin/completions/gpubind-plot
completion_sources = $(srcdir)/bin/completion/completion.sh $(srcdir)/bin/completion/completion.bash
make_completion = $(AM_V_GEN)$(MKDIR_P) bin/completions && $(SHELL) $(completion_sources)

bin/completions/gpubind: bin/gpubind$(EXEEXT) $(completion_sources)
	$(make_completion) bin/gpubind$(EXEEXT) >$@.new && mv $@.new $@
bin/completions/gpubind-bench: bin/gpubind-bench$(EXEEXT) $(completion_sources)
	$(make_completion) bin/gpubind-bench$(EXEEXT) >$@.new && mv $@.new $@
bin/completions/gpubind-plot: bench/plot/gpubind-plot $(completion_sources)
	$(make_completion) bench/plot/gpubind-plot >$@.new && mv $@.new $@

CLEANFILES += $(nodist_completions_DATA)
EXTRA_DIST += bin/completion/completion.sh bin/completion/completion.bash
