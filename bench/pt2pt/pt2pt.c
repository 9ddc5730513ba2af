/* The subcommand pt2pt: from the command line to the last row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/program.h"
#include "bench/output/output.h"
#include "bench/pt2pt/print.h"
#include "bench/pt2pt/pt2pt.h"
#include "bench/pt2pt/task.h"

struct run {
    struct pt2pt pt2pt;
    struct report report;
    FILE *svg;
    struct text machine;
    bool wrong; /* data, on any rank */
    bool quiet; /* results are kept, not printed */
};

static const char *copy_name(const struct pt2pt *pt2pt)
{
    static const char *const names[] = {NULL, "copy", "staged"};

    return names[pt2pt->copier.way];
}

static int open_svg(struct run *run, struct gpubind_error *err)
{
    const char *path = run->pt2pt.ranks.rank == 0 ? run->pt2pt.options->svg : NULL;

    return output_open("svg", path, &run->svg, err);
}

static void say_progress(const struct run *run, const struct task *task)
{
    struct text size = {0};

    if (run->pt2pt.ranks.rank > 0)
        return;
    text_add_size(&size, task->nbytes);
    output_progress(run->pt2pt.options, "%s %s", measure_word(task->measure),
                    size.bytes ? size.bytes : "");
    text_clear(&size);
}

/* Rows go out as they come. */
static void add_result(struct run *run, const struct result *result)
{
    struct report *report = &run->report;
    struct text text = {0};

    for (int method = 0; method < METHODS; method++)
        run->wrong |= result->by[method].wrong;
    if (run->pt2pt.ranks.rank > 0)
        return;
    report->nresults++;
    if (run->quiet)
        return;
    print_result(report, result, report->nresults > 1 ? result - 1 : NULL, &text);
    if (bench_print(&text))
        MPI_Abort(MPI_COMM_WORLD, EXIT_OWN);
}

static bool wants(const struct run *run, enum measure measure)
{
    return run->pt2pt.options->measures & 1u << measure;
}

static void run_tasks(struct run *run, struct result *next)
{
    const struct bench_options *options = run->pt2pt.options;
    struct gpubind_error err;
    struct task task;

    for (int measure = MEASURE_LATENCY; measure < MEASURES; measure++) {
        if (!wants(run, (enum measure)measure))
            continue;
        for (int i = 0; i < (measure == MEASURE_RATE ? 1 : options->nsizes); i++) {
            task_make(&run->pt2pt, (enum measure)measure, options->sizes[i], &task, &err);
            say_progress(run, &task);
            task_run(&run->pt2pt, &task, next);
            add_result(run, next++);
        }
    }
}

/* The copier's mapping of the peer's memory must not be what the first message
 * profits from, so it comes second. */
static void measure_all(struct run *run)
{
    struct pt2pt *pt2pt = &run->pt2pt;
    struct report *report = &run->report;
    struct result *next = report->results;
    bool works = pt2pt->ranks.pair >= 0;
    struct text text = {0};

    if (works && wants(run, MEASURE_FIRST))
        first_run(pt2pt, &next[0], &next[1]);
    if (works)
        copier_open(pt2pt);
    pt2pt_find_methods(pt2pt);
    report->copy_name = copy_name(pt2pt);
    pt2pt_describe(pt2pt, report->copy_name, &run->machine);
    report->machine = run->machine.bytes;
    report->gpu_name = pt2pt->gpu.name;
    if (pt2pt->ranks.rank == 0 && !run->quiet) {
        print_begin(report, &text);
        if (bench_print(&text))
            MPI_Abort(MPI_COMM_WORLD, EXIT_OWN);
    }
    if (!works)
        return;
    if (wants(run, MEASURE_FIRST)) {
        add_result(run, next++);
        add_result(run, next++);
    }
    run_tasks(run, next);
}

/* ---- ending */

static int write_svg(struct run *run)
{
    struct text text = {0};
    FILE *svg = run->svg;

    if (!svg)
        return 0;
    run->svg = NULL;
    draw_report(&run->report, &text);
    return output_close("svg", run->pt2pt.options->svg, svg, &text);
}

static int finish(struct run *run)
{
    struct pt2pt *pt2pt = &run->pt2pt;
    struct text text = {0};
    int status = 0;

    copier_close(pt2pt);
    if (pt2pt->ranks.rank == 0) {
        output_progress_end();
        print_end(&run->report, &text);
        status = bench_print(&text);
    }
    return status ? status : write_svg(run);
}

static void clear(struct run *run)
{
    struct pt2pt *pt2pt = &run->pt2pt;

    pt2pt_clear(pt2pt);
    free(run->report.results);
    text_clear(&run->machine);
    if (run->svg)
        fclose(run->svg);
}

static void release_buffers(const struct pt2pt *pt2pt)
{
    struct buffer buffers[2] = {pt2pt->out, pt2pt->in};

    buffers_release(pt2pt, buffers, 2);
}

/* Collective, with the same answer on all ranks. */
static int make_run(struct run *run, struct gpubind_error *err)
{
    struct pt2pt *pt2pt = &run->pt2pt;

    run->report.results = calloc((size_t)(MEASURES + 1) * BENCH_MAX_SIZES,
                                 sizeof *run->report.results);
    if (!run->report.results)
        ranks_die("out of memory");
    if (pt2pt_open(pt2pt, &run->report.gpu_ms, err) < 0 ||
        ranks_agree(MPI_COMM_WORLD, open_svg(run, err), err) < 0)
        return -1;
    run->report.nranks = pt2pt->ranks.n;
    run->report.npairs = pt2pt->ranks.npairs;
    return 0;
}

static int run_all(struct run *run)
{
    struct pt2pt *pt2pt = &run->pt2pt;
    struct gpubind_error err;
    int status;

    if (make_run(run, &err) < 0)
        return pt2pt->ranks.rank == 0 ? bench_fail(&err) : EXIT_OWN;
    measure_all(run);
    status = finish(run);
    release_buffers(pt2pt);
    if (!status && run->wrong) {
        status = EXIT_WRONG_DATA;
        error_set(&err, "data arrived wrong, in the rows that say so");
        if (pt2pt->ranks.rank == 0)
            bench_fail(&err);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return status;
}

/* For a report: results into a table instead of its own output. */
static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    struct run *run = calloc(1, sizeof *run);
    int status = ranks_agree(MPI_COMM_WORLD, run ? 0 : error_set(err, "out of memory"), err);

    if (status == 0) {
        run->pt2pt.options = run->report.options = options;
        run->quiet = true;
        status = make_run(run, err);
        if (status == 0) {
            measure_all(run);
            if (run->pt2pt.ranks.rank == 0)
                pt2pt_add(&run->report, table);
            copier_close(&run->pt2pt);
            release_buffers(&run->pt2pt);
        }
        clear(run);
    }
    free(run);
    return status;
}

const struct benchmark pt2pt_benchmark = {&pt2pt_schema, fill, true};

int pt2pt_main(const struct bench_options *options)
{
    struct gpubind_error err;
    struct run *run = calloc(1, sizeof *run);
    bool plain = options->api == API_MPI && !options->compare;
    int status;

    if (!run) {
        error_set(&err, "out of memory");
        return bench_fail(&err);
    }
    run->pt2pt.options = run->report.options = options;
    if (options->path)
        setenv("GPUBIND_PATH", options->path, 1);
    run->report.start_ms = ranks_start(plain);
    status = run_all(run);
    clear(run);
    ranks_end(plain);
    free(run);
    return status;
}
