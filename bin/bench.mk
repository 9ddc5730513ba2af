# gpubind-bench: an MPI program that measures libgpubind.
if HAVE_MPI
bin_PROGRAMS += bin/gpubind-bench
endif

bin_gpubind_bench_SOURCES = \
	bin/bench.c bin/bench.h \
	bin/bench_api.c bin/bench_api.h \
	bin/bench_area.c bin/bench_area.h \
	bin/bench_copy.c \
	bin/bench_first.c \
	bin/bench_gpu.c bin/bench_gpu.h \
	bin/bench_help.c \
	bin/bench_machine.c bin/bench_machine.h \
	bin/bench_measure.c \
	bin/bench_modes.c bin/bench_modes.h \
	bin/bench_options.c bin/bench_options.h \
	bin/bench_output.c bin/bench_output.h \
	bin/bench_p2p.c bin/bench_p2p.h \
	bin/bench_p2p_copy.c \
	bin/bench_p2p_gpus.c \
	bin/bench_plot.c \
	bin/bench_print.c bin/bench_print.h \
	bin/bench_pt2pt.c \
	bin/bench_pt2pt_svg.c \
	bin/bench_ranks.c bin/bench_ranks.h \
	bin/bench_result.h \
	bin/bench_rows.c bin/bench_rows.h \
	bin/bench_run.c bin/bench_run.h \
	bin/bench_series.c bin/bench_series.h \
	bin/bench_setup.c \
	bin/bench_sheet.c bin/bench_sheet.h \
	bin/bench_sheet_draw.c \
	bin/bench_sheet_print.c \
	bin/bench_svg.c bin/bench_svg.h \
	bin/bench_table.c bin/bench_table.h \
	bin/bench_task.c bin/bench_task.h
bin_gpubind_bench_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bin_gpubind_bench_LDADD = \
	src/mpi/libgpubind.la \
	src/cuda/libgpubind-cuda.la \
	src/core/libgpubind-core.la \
	$(MPI_LIBS) -lm
