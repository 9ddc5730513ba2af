#include "bench/cases/halo.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench/cases/cases.h"
#include "bench/cases/halo_schema.h"
#include "bench/lib/machine.h"
#include "bench/lib/ranks.h"
#include "bench/output/output.h"
#include "bench/output/runner.h"

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

static const char *const method_words[HALO_METHODS] = {"start, wait", "stream", "graph"};

struct run {
    const struct bench_options *options;
    struct table *table;
    struct bench_gpu gpu;
    MPI_Comm comm; /* the ranks that exchange: the first n */
    int rank, n;
};

static int add_row(struct run *run, struct halo_case *one, int grid, enum halo_method way,
                   const struct halo_result *result, struct gpubind_error *err)
{
    double bytes = halo_case_bytes(one), most;
    int places[3] = {0}, wrong = halo_case_check(one, err), any;
    struct halo_row row = {.grid = grids[grid].name,
                           .way = method_words[way],
                           .meets = grids[grid].periodic,
                           .in_turn = one->grid.flags != 0,
                           .ndims = one->grid.ndims,
                           .cells = one->grid.cells,
                           .places = places,
                           .nranks = run->n,
                           .times = result->times,
                           .us = result->us};

    if (wrong < 0)
        return -1;
    MPI_Allreduce(&bytes, &most, 1, MPI_DOUBLE, MPI_MAX, one->comm);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, one->comm);
    gpubind_halo_place(one->halo, NULL, places);
    row.bytes = most;
    row.wrong = any != 0;
    halo_add_row(run->table, &row);
    return 0;
}

/* Notes once, not for each grid, that a method is not possible. */
static void note(struct run *run, enum halo_method way, const struct gpubind_error *err)
{
    char begin[64];

    snprintf(begin, sizeof begin, "%s is left out", method_words[way]);
    if (!run->table->notes.bytes || !strstr(run->table->notes.bytes, begin))
        text_add(&run->table->notes, "%s where it is not possible: %s\n", begin, err->text);
}

static int measure_ways(struct run *run, struct halo_case *one, int grid, struct gpubind_error *err)
{
    for (int way = 0; way < HALO_METHODS; way++) {
        struct halo_result result;
        int status;

        if (run->rank == 0)
            output_progress(run->options, "%d rank%s, %s, %s%s", run->n, run->n == 1 ? "" : "s",
                            grids[grid].name, method_words[way],
                            one->grid.flags ? ", in turn" : "");
        status = halo_case_run(one, (enum halo_method)way, &result, err);
        if (status < 0)
            return -1;
        if (status > 0)
            note(run, (enum halo_method)way, err);
        else if (add_row(run, one, grid, (enum halo_method)way, &result, err) < 0)
            return -1;
    }
    return 0;
}

static void measure_grid(struct run *run, int grid, int flags, struct gpubind_error *err)
{
    struct halo_case one = {.comm = run->comm, .gpu = &run->gpu, .batches = run->options->repeats};
    int status;

    one.grid = (struct gpubind_halo_grid){.ndims = grids[grid].ndims,
                                          .element = MPI_DOUBLE,
                                          .corners = grids[grid].corners,
                                          .flags = flags};
    for (int d = 0; d < one.grid.ndims; d++) {
        one.grid.cells[d] = grids[grid].cells[d];
        one.grid.width[d] = grids[grid].width[d];
        one.grid.periodic[d] = grids[grid].periodic;
    }
    status = halo_case_make(&one, err);
    if (status == 0)
        status = measure_ways(run, &one, grid, err);
    if (status < 0)
        ranks_die("%s", err->text); /* ends the job: the others may be in an exchange */
    halo_case_clear(&one);
}

/* The first n ranks exchange, while the others wait. */
static void measure_ranks(struct run *run, int n)
{
    struct gpubind_error err;

    run->n = n;
    if (MPI_Comm_split(MPI_COMM_WORLD, run->rank < n ? 0 : MPI_UNDEFINED, run->rank, &run->comm) !=
        MPI_SUCCESS)
        ranks_die("MPI_Comm_split failed");
    if (run->rank >= n)
        return;
    for (int grid = 0; grid < (int)(sizeof grids / sizeof grids[0]); grid++)
        for (int turn = 0; turn < 2; turn++)
            measure_grid(run, grid, turn ? GPUBIND_HALO_IN_TURN : 0, &err);
    MPI_Comm_free(&run->comm);
}

static int open_gpu(struct run *run, struct gpubind_error *err)
{
    return ranks_agree(MPI_COMM_WORLD, gpu_open(&run->gpu, ranks_local(), err), err);
}

static void describe(struct run *run, int n)
{
    struct text *text = &run->table->machine;

    machine_add_job("halo", n, text);
    machine_add_host(text);
    machine_add_ranks(&run->gpu, MPI_COMM_WORLD, text);
    machine_add_mpi(text);
}

static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    struct run run = {.options = options, .table = table};
    int status, n;

    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    status = open_gpu(&run, err);
    if (status == 0) {
        describe(&run, n);
        for (int some = 1; some < n; some *= 2)
            measure_ranks(&run, some);
        measure_ranks(&run, n);
    }
    gpu_close(&run.gpu);
    return status;
}

const struct benchmark halo_benchmark = {&halo_schema, fill, true};
