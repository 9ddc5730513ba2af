#include "bin/bench_halo.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bin/bench_machine.h"
#include "bin/bench_modes.h"
#include "bin/bench_output.h"
#include "bin/bench_ranks.h"
#include "bin/bench_run.h"

enum {
    GRID, BORDERS, CELLS, RANKS, TURN, WAY, BYTES, TIMES, US, GB_PER_S, DATA, COLUMNS
};

static const struct sheet_column columns[] = {
    [GRID] = {SHEET_WORD, "grid", "grid"},
    [BORDERS] = {SHEET_WORD, "borders", "borders"},
    [CELLS] = {SHEET_WORD, "cells", "cells of a rank"},
    [RANKS] = {SHEET_WORD, "ranks", "ranks"},
    [TURN] = {SHEET_WORD, "neighbours", "neighbours"},
    [WAY] = {SHEET_WORD, "way", "way"},
    [BYTES] = {SHEET_SIZE, "bytes", "bytes sent"},
    [TIMES] = {SHEET_COUNT, "times", "times"},
    [US] = {SHEET_NUMBER, "us", "us"},
    [GB_PER_S] = {SHEET_NUMBER, "GB_per_s", "GB/s"},
    [DATA] = {SHEET_WORD, "data", "data"},
};

#define WAY_PART(way_word, title_text)                                        \
    {                                                                         \
        .title = title_text, .unit = "us", .where = {{WAY, way_word}},        \
        .picture = SHEET_BARS, .columns = ((1u << COLUMNS) - 1) & ~(1u << WAY), \
        .names = 1u << GRID | 1u << BORDERS | 1u << TURN, .value = US         \
    }

static const struct sheet_part parts[] = {
    WAY_PART("stream", "an exchange in a stream, on the slowest rank"),
    WAY_PART("graph", "the same in a captured graph"),
    WAY_PART("start, wait", "started and waited for by the host"),
};

static const struct sheet_form form = {"halo", columns, COLUMNS, parts,
                                       sizeof parts / sizeof parts[0]};

/* Doubles; one ghost cell on either side along the dimensions that are cut. */
static const struct {
    const char *name;
    int ndims, cells[3], width[3], periodic, corners;
} grids[] = {
    {"rows of 64 KiB", 2, {16, 8192, 0}, {1, 0, 0}, 0, 0},
    {"rows of 64 KiB", 2, {16, 8192, 0}, {1, 0, 0}, 1, 0},
    {"rows of 1 MiB", 2, {16, 131072, 0}, {1, 0, 0}, 0, 0},
    {"rows of 1 MiB", 2, {16, 131072, 0}, {1, 0, 0}, 1, 0},
    {"square", 2, {1024, 1024, 0}, {1, 1, 0}, 1, 0},
    {"cube, corners", 3, {128, 128, 128}, {1, 1, 1}, 1, 1},
};

static const char *const ways[HALO_WAYS] = {"start, wait", "stream", "graph"};

struct run {
    const struct bench_options *options;
    struct sheet *sheet;
    struct bench_gpu gpu;
    int rank;
};

/* "3 x 2" */
static void say_numbers(char word[SHEET_MAX_WORD], const int *numbers, int n)
{
    for (int i = 0, end = 0; i < n; i++)
        end += snprintf(word + end, SHEET_MAX_WORD - (size_t)end, "%s%d", i ? " x " : "",
                        numbers[i]);
}

static int add_row(struct run *run, struct halo_case *one, int grid, enum halo_way way,
                   const struct halo_result *result, struct gpubind_error *err)
{
    struct sheet *sheet = run->sheet;
    double bytes = halo_case_bytes(one), most;
    int ranks[3] = {0}, wrong = halo_case_check(one, err), any;
    char word[SHEET_MAX_WORD];

    if (wrong < 0)
        return -1;
    MPI_Allreduce(&bytes, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    gpubind_halo_place(one->halo, NULL, ranks);
    sheet_row(sheet);
    sheet_word(sheet, GRID, grids[grid].name);
    sheet_word(sheet, BORDERS, grids[grid].periodic ? "meet" : "open");
    say_numbers(word, one->grid.cells, one->grid.ndims);
    sheet_word(sheet, CELLS, word);
    say_numbers(word, ranks, one->grid.ndims);
    sheet_word(sheet, RANKS, word);
    sheet_word(sheet, TURN, one->grid.flags ? "in turn" : "asked");
    sheet_word(sheet, WAY, ways[way]);
    sheet_number(sheet, BYTES, most);
    sheet_number(sheet, TIMES, result->times);
    sheet_number(sheet, US, result->us);
    sheet_number(sheet, GB_PER_S, 1e-3 * most / result->us);
    sheet_word(sheet, DATA, any ? "wrong" : "right");
    sheet->wrong |= any != 0;
    return 0;
}

/* A way that is not possible is said once, not for each grid. */
static void note(struct run *run, enum halo_way way, const struct gpubind_error *err)
{
    char begin[64];

    snprintf(begin, sizeof begin, "%s is left out", ways[way]);
    if (!run->sheet->notes.bytes || !strstr(run->sheet->notes.bytes, begin))
        text_add(&run->sheet->notes, "%s where it is not possible: %s\n", begin, err->text);
}

static int measure_ways(struct run *run, struct halo_case *one, int grid,
                        struct gpubind_error *err)
{
    for (int way = 0; way < HALO_WAYS; way++) {
        struct halo_result result;
        int status;

        if (run->rank == 0)
            output_progress(run->options, "%s, %s%s", grids[grid].name, ways[way],
                            one->grid.flags ? ", in turn" : "");
        status = halo_case_run(one, (enum halo_way)way, &result, err);
        if (status < 0)
            return -1;
        if (status > 0)
            note(run, (enum halo_way)way, err);
        else if (add_row(run, one, grid, (enum halo_way)way, &result, err) < 0)
            return -1;
    }
    return 0;
}

static int measure(struct run *run, int grid, int flags, struct gpubind_error *err)
{
    struct halo_case one = {.gpu = &run->gpu, .batches = run->options->repeats};
    int status;

    one.grid = (struct gpubind_halo_grid){.ndims = grids[grid].ndims, .element = MPI_DOUBLE,
                                          .corners = grids[grid].corners, .flags = flags};
    for (int d = 0; d < one.grid.ndims; d++) {
        one.grid.cells[d] = grids[grid].cells[d];
        one.grid.width[d] = grids[grid].width[d];
        one.grid.periodic[d] = grids[grid].periodic;
    }
    status = halo_case_make(&one, err);
    if (status == 0)
        status = measure_ways(run, &one, grid, err);
    if (status < 0)
        ranks_die("%s", err->text); /* the others may be in an exchange */
    halo_case_clear(&one);
    return status;
}

static int open_gpu(struct run *run, struct gpubind_error *err)
{
    return ranks_agree(MPI_COMM_WORLD, gpu_open(&run->gpu, ranks_local(), err), err);
}

static void describe(struct run *run)
{
    struct text *text = &run->sheet->machine;
    int n;

    MPI_Comm_size(MPI_COMM_WORLD, &n);
    text_add(text, "gpubind-bench %s halo: %d rank%s\n", PACKAGE_VERSION, n, n == 1 ? "" : "s");
    machine_add_host(text);
    machine_add_mpi(text);
    machine_add_gpu("GPU of rank 0: ", &run->gpu, text);
    text_add(text, "\n");
}

static int fill(const struct bench_options *options, struct sheet *sheet, struct gpubind_error *err)
{
    struct run run = {.options = options, .sheet = sheet};
    int status;

    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    status = open_gpu(&run, err);
    if (status == 0) {
        describe(&run);
        for (int grid = 0; grid < (int)(sizeof grids / sizeof grids[0]); grid++)
            for (int turn = 0; turn < 2; turn++)
                measure(&run, grid, turn ? GPUBIND_HALO_IN_TURN : 0, err);
    }
    gpu_close(&run.gpu);
    return status;
}

const struct bench_subject halo_subject = {&form, fill, true};
