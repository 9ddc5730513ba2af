# gpubind-plot: Python, with the version put in.
bin_SCRIPTS = bench/plot/gpubind-plot
EXTRA_DIST += bench/plot/gpubind-plot.in
CLEANFILES += bench/plot/gpubind-plot bench/plot/gpubind-plot.new

bench/plot/gpubind-plot: bench/plot/gpubind-plot.in Makefile
	$(AM_V_at)$(MKDIR_P) bench/plot
	$(AM_V_GEN)sed 's/[@]VERSION[@]/$(PACKAGE_VERSION)/' $(srcdir)/bench/plot/gpubind-plot.in >$@.new && \
		chmod +x $@.new && mv $@.new $@
