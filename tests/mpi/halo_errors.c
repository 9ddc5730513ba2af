/* What gpubind_halo_create and the calls with a halo refuse: on all ranks, in a sentence
 * that says whose fault it is; afterwards all is well. */
#include <string.h>

#include "tests/mpi/halo_world.h"
#include "tests/mpi/tests.h"

static const struct gpubind_halo_grid good = {
    .ndims = 2, .cells = {4, 5}, .width = {1, 2}, .element = MPI_DATATYPE_NULL};
static struct buffer arrays[2];
static void *at[2];

/* What only the last rank gets wrong is everybody's error; all others name it. */
static void refused(struct gpubind_halo_grid bad, int narrays, void *const given[], int class,
                    const char *words)
{
    const bool mine = job.rank == job.size - 1;
    struct gpubind_halo_grid grid = good;
    gpubind_halo halo = (gpubind_halo)(void *)&grid;
    char whose[20] = "";

    job_test("refused: %s", words);
    grid.element = MPI_DOUBLE;
    grid.ranks[0] = job.size;
    if (!mine)
        snprintf(whose, sizeof whose, "rank %d: ", job.size - 1);
    fails(gpubind_halo_create(MPI_COMM_WORLD, mine ? &bad : &grid, mine ? narrays : 2,
                              mine ? given : at, &halo),
          class, words, "create");
    expect(strstr(gpubind_error_text(), whose), "'%s' does not name the rank",
           gpubind_error_text());
    expect(!halo, "a halo was made");
    job_result();
}

/* Neighbours do not fit; on both the same sentence. */
static void disagree(struct gpubind_halo_grid grid, int narrays, const char *words)
{
    gpubind_halo halo;
    char mine[300], first[300];

    job_test("disagreement: %s", words);
    fails(gpubind_halo_create(MPI_COMM_WORLD, &grid, narrays, at, &halo), MPI_ERR_ARG, words,
          "create");
    snprintf(mine, sizeof mine, "%s", gpubind_error_text());
    memcpy(first, mine, sizeof first);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, job.plain);
    expect(strcmp(mine, first) == 0, "rank 0 says '%s', this one '%s'", first, mine);
    expect(!halo, "a halo was made");
    job_result();
}

static struct gpubind_halo_grid grid_of(int ranks)
{
    struct gpubind_halo_grid grid = good;

    grid.element = MPI_DOUBLE;
    grid.ranks[0] = ranks;
    return grid;
}

static void arguments_of_create(void)
{
    struct gpubind_halo_grid bad;
    MPI_Datatype vector;

    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    bad = grid_of(job.size), bad.ndims = 4;
    refused(bad, 2, at, MPI_ERR_ARG, "ndims is 4");
    bad = grid_of(job.size), bad.cells[1] = -1;
    refused(bad, 2, at, MPI_ERR_ARG, "cells[1] is -1");
    bad = grid_of(job.size), bad.width[0] = 5;
    refused(bad, 2, at, MPI_ERR_ARG, "width[0] is 5, which is more than the 4 cells");
    bad = grid_of(job.size), bad.pitch = 7;
    refused(bad, 2, at, MPI_ERR_ARG, "the pitch is 7");
    bad = grid_of(job.size), bad.flags = 6;
    refused(bad, 2, at, MPI_ERR_ARG, "flags is 6");
    bad = grid_of(job.size), bad.element = vector;
    refused(bad, 2, at, MPI_ERR_TYPE, "gaps");
    bad = grid_of(job.size), bad.element = MPI_DATATYPE_NULL;
    refused(bad, 2, at, MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    bad = grid_of(job.size), bad.ranks[1] = -2;
    refused(bad, 2, at, MPI_ERR_ARG, "ranks[1] is -2");
    bad = grid_of(job.size);
    refused(bad, 0, at, MPI_ERR_ARG, "narrays is 0");
    refused(bad, 2, NULL, MPI_ERR_ARG, "arrays is NULL");
    refused(bad, 2, (void *[]){at[0], NULL}, MPI_ERR_BUFFER, "array 1 is NULL");
    bad.flags = GPUBIND_HALO_IN_TURN;
    refused(bad, 1, at, MPI_ERR_ARG, "needs two arrays");
    refused(bad, 2, (void *[]){at[0], at[0]}, MPI_ERR_BUFFER, "arrays 0 and 1 are one");
    MPI_Type_free(&vector);
}

static void disagreements(void)
{
    const bool last = job.rank == job.size - 1;
    struct gpubind_halo_grid grid;

    grid = grid_of(job.size), grid.cells[1] += last;
    disagree(grid, 2, "have 5 and 6 cells along dimension 1|have 6 and 5 cells along dimension 1");
    grid = grid_of(job.size), grid.width[1] -= last;
    disagree(grid, 2, "disagree on width[1]: 2 and 1");
    grid = grid_of(job.size), grid.periodic[0] = last;
    disagree(grid, 2, "disagree on periodic[0]: 0 and 1");
    grid = grid_of(job.size), grid.element = last ? MPI_INT : MPI_DOUBLE;
    disagree(grid, 2, "disagree on bytes of an element: 8 and 4");
    grid = grid_of(job.size);
    disagree(grid, last ? 1 : 2, "disagree on narrays: 2 and 1");
    grid = grid_of(job.size + 1);
    disagree(grid, 2, "cannot be made of the");
}

static void calls(void)
{
    struct gpubind_halo_grid grid = grid_of(job.size);
    gpubind_halo halo;
    int rank;

    job_test("what cannot be done with a halo");
    succeeds(gpubind_halo_create(MPI_COMM_WORLD, &grid, 2, at, &halo), "create");
    fails(gpubind_halo_wait(halo), MPI_ERR_REQUEST, "no exchange", "wait without start");
    fails(gpubind_halo_start(halo, 2), MPI_ERR_ARG, "no array 2: the halo has 2", "array 2");
    fails(gpubind_halo_start(halo, -1), MPI_ERR_ARG, "no array -1", "array -1");
    fails(gpubind_halo_exchange_on_stream(halo, 7, NULL), MPI_ERR_ARG, "no array 7", "array 7");
    fails(gpubind_halo_neighbor(halo, (int[2]){0, 2}, &rank), MPI_ERR_ARG, "offset[1] is 2",
          "an offset of 2");
    is_int(rank, MPI_PROC_NULL, "the neighbour at no offset");
    succeeds(gpubind_halo_start(halo, 1), "start");
    fails(gpubind_halo_start(halo, 0), MPI_ERR_REQUEST, "array 1 is under way", "another start");
    fails(gpubind_halo_exchange_on_stream(halo, 0, NULL), MPI_ERR_REQUEST, "under way",
          "on a stream while started");
    fails(gpubind_halo_free(&halo), MPI_ERR_REQUEST, "under way", "free while started");
    succeeds(gpubind_halo_wait(halo), "wait");
    fails(gpubind_halo_wait(halo), MPI_ERR_REQUEST, "no exchange", "another wait");
    succeeds(gpubind_halo_free(&halo), "free");
    fails(gpubind_halo_start(halo, 0), MPI_ERR_ARG, "GPUBIND_HALO_NULL", "start of none");
    fails(gpubind_halo_wait(halo), MPI_ERR_ARG, "GPUBIND_HALO_NULL", "wait of none");
    fails(gpubind_halo_place(halo, NULL, NULL), MPI_ERR_ARG, "GPUBIND_HALO_NULL", "place of none");
    fails(gpubind_halo_neighbor(halo, (int[2]){0}, &rank), MPI_ERR_ARG, "GPUBIND_HALO_NULL",
          "neighbor of none");
    fails(gpubind_halo_exchange_on_stream(halo, 0, NULL), MPI_ERR_ARG, "GPUBIND_HALO_NULL",
          "on a stream of none");
    fails(gpubind_halo_create(MPI_COMM_NULL, &grid, 2, at, &halo), MPI_ERR_COMM, "MPI_COMM_NULL",
          "create over nobody");
    job_result();
}

static void turns(void)
{
    struct gpubind_halo_grid grid = grid_of(job.size);
    gpubind_halo halo;

    job_test("GPUBIND_HALO_IN_TURN: another order is refused");
    grid.flags = GPUBIND_HALO_IN_TURN;
    succeeds(gpubind_halo_create(MPI_COMM_WORLD, &grid, 2, at, &halo), "create");
    fails(gpubind_halo_start(halo, 1), MPI_ERR_ARG, "turn of array 0, not of array 1", "1 first");
    for (int step = 0; step < 4; step++) {
        succeeds(gpubind_halo_start(halo, step % 2), "start");
        succeeds(gpubind_halo_wait(halo), "wait");
        fails(gpubind_halo_start(halo, step % 2), MPI_ERR_ARG, "it is the turn of array",
              "the same again");
    }
    succeeds(gpubind_halo_free(&halo), "free");
    job_result();
}

void test_halo_errors(void)
{
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (!all_have)
        return;
    for (int i = 0; i < 2; i++) {
        need_buffer(&arrays[i], MEMORY_DEVICE, 6 * 12 * sizeof(double));
        at[i] = arrays[i].at;
    }
    arguments_of_create();
    disagreements();
    calls();
    turns();
    for (int i = 0; i < 2; i++)
        buffer_clear(&arrays[i]);
}
