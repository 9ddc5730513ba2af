/* The subcommand report: the others one after the other, beside the machine's peaks. */
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/machine.h"
#include "bench/lib/program.h"
#include "bench/lib/ranks.h"
#include "bench/main/peaks.h"
#include "bench/main/roofline.h"
#include "bench/main/subcommands.h"
#include "bench/output/output.h"

/* One row a section. Those that need the library come last, because it can start only once. */
static const struct section {
    enum subcommand_id subcommand;
    const char *title, *about;
} sections[] = {
    {SUBCOMMAND_P2P, "Between GPUs",
     "Copies between every two GPUs that one process sees, with peer access off and on."},
    {SUBCOMMAND_PEER_KERNEL, "Kernels in another GPU's memory",
     "A kernel of the first GPU doubles numbers in its own memory, and in that of each other GPU."},
    {SUBCOMMAND_HOST, "Between GPUs and their host",
     "Copies between the GPU of a rank and the memory of its host, whole and in chunks."},
    {SUBCOMMAND_COLL, "Collectives of MPI",
     "MPI's collectives on the memory of all ranks' GPUs, beside NCCL's."},
    {SUBCOMMAND_PT2PT, "Messages between ranks",
     "Messages of the library between two ranks, beside a bare copy of as many bytes."},
    {SUBCOMMAND_STREAM, "Messages on streams",
     "Messages that two ranks queue on streams of their GPUs, beside NCCL's and bare copies."},
    {SUBCOMMAND_HALO, "Halo exchanges",
     "The ranks exchange the ghost cells of a grid, alone and in growing numbers."},
    {SUBCOMMAND_PUT, "Puts, gets and signals of kernels",
     "A kernel writes to another rank's window and reads from it, by more and more blocks."},
};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

struct report_run {
    const struct bench_options *options;
    int rank, n;
    struct table tables[SECTIONS], roofline;
    struct gpubind_error absent[SECTIONS]; /* "" where it was measured */
    bool failed[SECTIONS];                 /* of sections that could have been measured */
    bool started;                          /* a section has started the library */
};

/* The defaults of the subcommand, overridden by the options of report. Kernels keep their number of
 * bytes, which exceeds caches, and get less time. */
static int read_options(const struct section *section, const struct bench_options *given,
                        struct bench_options *options, struct gpubind_error *err)
{
    if (bench_options_default(section->subcommand, options, err) < 0)
        return -1;
    options->progress = given->progress;
    options->repeats = given->repeats;
    options->time_ms = given->time_ms;
    if (section->subcommand == SUBCOMMAND_PUT || section->subcommand == SUBCOMMAND_PEER_KERNEL)
        options->time_ms = given->time_ms < 10 ? 1 : given->time_ms / 10;
    else
        options->size = given->size;
    if (section->subcommand == SUBCOMMAND_PT2PT) {
        memcpy(options->sizes, given->sizes, sizeof options->sizes);
        options->nsizes = given->nsizes;
    }
    return 0;
}

/* Returns what the benchmark's fill returns, or BENCH_CANNOT with the reason it is not called. */
static int fill(struct report_run *run, const struct section *section, struct table *table,
                struct gpubind_error *err)
{
    const struct benchmark *benchmark = subcommands[section->subcommand].benchmark;
    struct bench_options options;

    if (section->subcommand == SUBCOMMAND_PT2PT && run->n % 2) {
        error_set(err,
                  "it needs an even number of ranks; this was one of %d (mpirun -np 2 "
                  "gpubind-bench report)",
                  run->n);
        return BENCH_CANNOT;
    }
    if (read_options(section, run->options, &options, err) < 0)
        return -1;
    if (benchmark->library && !run->started && bench_library_start(err) < 0)
        return -1;
    run->started |= benchmark->library;
    return benchmark->fill(&options, table, err);
}

/* Collective; returns the same on all ranks. */
static void run_section(struct report_run *run, int i)
{
    struct gpubind_error *err = &run->absent[i];
    int status;

    err->text[0] = '\0';
    status = fill(run, &sections[i], &run->tables[i], err);
    if (status == 0) {
        err->text[0] = '\0';
    } else {
        table_clear(&run->tables[i]);
        run->tables[i].schema = subcommands[sections[i].subcommand].benchmark->schema;
    }
    run->failed[i] = status < 0;
}

/* Reads the peaks on rank 0, which gathers the locations of all ranks. */
static int read_peaks(struct report_run *run, struct peaks *peaks, struct gpubind_error *err)
{
    int status = 0, local = ranks_local();
    struct rank_location mine, *locations = calloc((size_t)run->n, sizeof *locations);

    if (!locations)
        ranks_die("out of memory");
    if (run->rank == 0)
        status = peaks_read(local, peaks, err);
    if (status == 0 && run->rank == 0 && !peaks->n)
        status = error_set(err, "no GPU is visible: there is nothing to measure");
    status = ranks_agree(MPI_COMM_WORLD, status, err);
    if (status == 0) {
        rank_location_find(local, &mine);
        MPI_Gather(&mine, sizeof mine, MPI_BYTE, locations, sizeof mine, MPI_BYTE, 0,
                   MPI_COMM_WORLD);
        if (run->rank == 0)
            peaks_of_ranks(locations, run->n, peaks);
    }
    free(locations);
    return status;
}

static void fill_roofline(struct report_run *run, const struct peaks *peaks)
{
    struct text *machine = &run->roofline.machine;

    table_clear(&run->roofline);
    run->roofline.schema = &roofline_schema;
    machine_add_job("report", run->n, machine);
    machine_add_host(machine);
    machine_add_mpi(machine);
    peaks_print(peaks, machine);
    for (int i = 0; i < SECTIONS; i++)
        if (!*run->absent[i].text)
            roofline_add(&run->tables[i], peaks, &run->roofline);
}

/* The roofline, and the tables of all sections. */
static void print_json(const struct report_run *run, struct text *text)
{
    struct json json = {.text = text, .spaced = true};

    json_open(&json, NULL, '{');
    table_add_json(&run->roofline, &json);
    json_newline(&json, 1);
    json_open(&json, "sections", '[');
    for (int i = 0; i < SECTIONS; i++) {
        json_newline(&json, 1);
        json_open(&json, NULL, '{');
        json_string(&json, "title", sections[i].title);
        json_string(&json, "about", sections[i].about);
        json_string(&json, "not_measured", run->absent[i].text);
        json_newline(&json, 1);
        table_add_json(&run->tables[i], &json);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(text, "\n");
}

/* A call of the library that fails ends the job, and what was measured before is to be there then. On rank 0. */
static void keep(struct report_run *run, const struct peaks *peaks)
{
    struct text text = {0};

    fill_roofline(run, peaks);
    print_json(run, &text);
    output_replace(run->options->output, &text, false);
    text_clear(&text);
}

static int measure_all(struct report_run *run, struct gpubind_error *err)
{
    struct peaks *peaks = calloc(1, sizeof *peaks);
    int status, measured = 0;

    if (!peaks)
        ranks_die("out of memory");
    for (int i = 0; i < SECTIONS; i++) {
        run->tables[i].schema = subcommands[sections[i].subcommand].benchmark->schema;
        error_set(&run->absent[i], "the job ended before");
    }
    /* First, as nothing can be measured without a GPU. */
    status = read_peaks(run, peaks, err);
    for (int i = 0; i < SECTIONS && status == 0; i++) {
        run_section(run, i);
        measured += !*run->absent[i].text;
        if (run->rank == 0 && measured)
            keep(run, peaks);
    }
    if (status == 0 && !measured)
        status = error_set(err, "%s", run->absent[0].text);
    /* Once more, as idle links may have reported lower speeds before. */
    if (status == 0)
        status = read_peaks(run, peaks, err);
    if (status == 0 && run->rank == 0)
        fill_roofline(run, peaks);
    free(peaks);
    return status;
}

static int write_file(const struct report_run *run)
{
    struct gpubind_error err;
    struct text text = {0};
    bool good;

    print_json(run, &text);
    good = output_replace(run->options->output, &text, true);
    text_clear(&text);
    if (good)
        return 0;
    error_set(&err, "--output: %s cannot be written: %s", run->options->output, strerror(errno));
    return bench_fail(&err);
}

/* On stdout: all as JSON, or the roofline, for people with the command that draws all. */
static int print_results(struct report_run *run)
{
    const struct bench_options *options = run->options;
    size_t length = strlen(options->output);
    struct text text = {0};

    if (options->json) {
        print_json(run, &text);
        return bench_print(&text);
    }
    if (output_table(options, &run->roofline))
        return EXIT_OWN;
    if (options->csv)
        return 0;
    if (length > 5 && strcmp(options->output + length - 5, ".json") == 0)
        length -= 5;
    text_add(&text, "\nall results: %s; to draw them: gpubind-plot %s -o %.*s.svg\n",
             options->output, options->output, (int)length, options->output);
    return bench_print(&text);
}

/* A failed section does not discard the others, but sets the exit status. */
static int finish(struct report_run *run)
{
    struct gpubind_error err;
    int status;

    output_progress_end();
    status = write_file(run) ? EXIT_OWN : print_results(run);
    for (int i = 0; i < SECTIONS && !status; i++) {
        if (!run->tables[i].wrong)
            continue;
        error_set(&err, "%s: data arrived wrong", subcommands[sections[i].subcommand].word);
        bench_fail(&err);
        status = EXIT_WRONG_DATA;
    }
    for (int i = 0; i < SECTIONS && !status; i++) {
        if (!run->failed[i])
            continue;
        error_set(&err, "%s: %s", subcommands[sections[i].subcommand].word, run->absent[i].text);
        status = bench_fail(&err);
    }
    return status;
}

static int check_file(const struct report_run *run, struct gpubind_error *err)
{
    return run->rank == 0 ? output_check("output", run->options->output, err) : 0;
}

static void clear(struct report_run *run)
{
    for (int i = 0; i < SECTIONS; i++)
        table_clear(&run->tables[i]);
    table_clear(&run->roofline);
}

int bench_report(const struct bench_options *options)
{
    struct report_run run;
    struct gpubind_error err;
    int status;

    memset(&run, 0, sizeof run);
    run.options = options;
    ranks_start(true);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.n);
    if (ranks_agree(MPI_COMM_WORLD, check_file(&run, &err), &err) < 0 ||
        measure_all(&run, &err) < 0) {
        status = run.rank == 0 ? bench_fail(&err) : EXIT_OWN;
    } else {
        status = run.rank == 0 ? finish(&run) : 0;
        MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    clear(&run);
    if (run.started)
        bench_library_end();
    ranks_end(true);
    return status;
}
