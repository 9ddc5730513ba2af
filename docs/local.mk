# The pictures in README.md and docs; draw-bench draws its own again, from recorded results.
bench_pictures = \
	docs/pictures/pt2pt.svg \
	docs/pictures/put.svg \
	docs/pictures/report-2-h200.svg \
	docs/pictures/stream.svg
draw-bench: bench/plot/gpubind-plot
	cd $(srcdir)/docs/pictures && plot='$(abs_builddir)/bench/plot/gpubind-plot' && \
	"$$plot" pt2pt.json -o pt2pt.svg && \
	"$$plot" stream.json -o stream.svg && \
	"$$plot" report-2-h200.json -o report-2-h200.svg && \
	"$$plot" report-2-h200.json -o put.svg --title 'put and get between two H200' \
		--only put-warp,put-block,get-warp,get-block
.PHONY: draw-bench
EXTRA_DIST += \
	docs/applications.md \
	docs/gpu-aware.md \
	docs/install.md \
	docs/library.md \
	docs/measurements.md \
	docs/mpis.md \
	docs/placement.md \
	docs/style.css \
	docs/to_html.py \
	docs/tutorial.md \
	$(bench_pictures) \
	docs/pictures/jacobi.svg \
	docs/pictures/placement.svg \
	docs/pictures/plan.svg \
	docs/pictures/pt2pt.json \
	docs/pictures/report-2-h200.json \
	docs/pictures/stream.json \
	docs/pictures/timeline.svg

# The documents and the manual, to be read in a browser. What mandoc or Python's module markdown
# would make is left out, and named, where they are not there.
html_folder = html
html-local:
	@python=python3; ! /usr/bin/python3 -c 'import markdown' 2>/dev/null || python=/usr/bin/python3; \
	$$python $(srcdir)/docs/to_html.py $(srcdir) $(html_folder) mandoc && \
	echo "The index is $(html_folder)/index.html"
clean-local: clean-html
clean-html:
	rm -rf html
.PHONY: clean-html
