/* Grids over ranks: how they are cut, what is refused, and that the boxes bring every
 * ghost cell what a global array has there. */
#include <stdlib.h>

#include "core/msg/halo_grid.h"
#include "tests/tap.h"

#define UNTOUCHED (-1)
#define MOST_RANKS 24
#define ROUNDS 3000

static unsigned long state = 20261121;

/* 0 to below n */
static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)n);
}

/* ---- one exchange of all ranks, in plain memory */

struct world {
    int nranks;
    int cells[HALO_DIMS][MOST_RANKS]; /* by place along the dimension */
    int total[HALO_DIMS];
    struct halo_grid grid[MOST_RANKS];
    int *array[MOST_RANKS];
};

static size_t length_of(const struct halo_grid *grid)
{
    size_t length = 1;

    for (int d = 0; d < HALO_DIMS; d++)
        length *= (size_t)halo_grid_length(grid, d);
    return length;
}

static int *element(const struct world *world, int rank, const int at[HALO_DIMS])
{
    const struct halo_grid *grid = &world->grid[rank];
    size_t place = 0;

    for (int d = 0; d < HALO_DIMS; d++)
        place = place * (size_t)halo_grid_length(grid, d) + (size_t)at[d];
    return &world->array[rank][place];
}

/* The next of the places 0 to below extent; false after the last. */
static bool next(int at[HALO_DIMS], const int extent[HALO_DIMS])
{
    for (int d = HALO_DIMS - 1; d >= 0; d--) {
        if (++at[d] < extent[d])
            return true;
        at[d] = 0;
    }
    return false;
}

/* The number of the cell that a rank's array has at a place; UNTOUCHED where it is not to
 * be written: padding, behind a border, an edge or a corner that nobody asked for. */
static int wanted(const struct world *world, int rank, const int at[HALO_DIMS])
{
    const struct halo_grid *grid = &world->grid[rank];
    int place[HALO_DIMS], sides = 0, number = 0;

    halo_grid_place(grid, rank, place);
    for (int d = 0; d < HALO_DIMS; d++) {
        const int inside = at[d] - grid->width[d];
        int global = inside;

        if (inside >= grid->cells[d] + grid->width[d])
            return UNTOUCHED; /* padding */
        for (int i = 0; i < place[d]; i++)
            global += world->cells[d][i];
        sides += inside < 0 || inside >= grid->cells[d];
        if (!grid->periodic[d] && (global < 0 || global >= world->total[d]))
            return UNTOUCHED;
        number = number * world->total[d] + (global + world->total[d]) % world->total[d];
    }
    return sides > 1 && !grid->corners ? UNTOUCHED : number;
}

static bool is_ghost(const struct halo_grid *grid, const int at[HALO_DIMS])
{
    for (int d = 0; d < HALO_DIMS; d++)
        if (at[d] < grid->width[d] || at[d] >= grid->width[d] + grid->cells[d])
            return true;
    return false;
}

static void extents(const struct halo_grid *grid, int extent[HALO_DIMS])
{
    for (int d = 0; d < HALO_DIMS; d++)
        extent[d] = halo_grid_length(grid, d);
}

static void fill(struct world *world, int rank)
{
    const struct halo_grid *grid = &world->grid[rank];
    int at[HALO_DIMS] = {0}, extent[HALO_DIMS];

    extents(grid, extent);
    world->array[rank] = malloc(length_of(grid) * sizeof(int));
    do
        *element(world, rank, at) = is_ghost(grid, at) ? UNTOUCHED : wanted(world, rank, at);
    while (next(at, extent));
}

/* What one rank receives from a neighbour; false: nobody sends it, or another size. */
static bool receive(struct world *world, int rank, const struct halo_neighbor *mine)
{
    struct halo_neighbor its[HALO_NEIGHBORS];
    const int n = halo_grid_neighbors(&world->grid[mine->rank], mine->rank, its);
    int i = 0, at[HALO_DIMS] = {0};

    while (i < n && (its[i].rank != rank || its[i].send_code != mine->receive_code))
        i++;
    if (i == n || memcmp(its[i].send.extent, mine->receive.extent, sizeof at) != 0)
        return false;
    do {
        int from[HALO_DIMS], to[HALO_DIMS];

        for (int d = 0; d < HALO_DIMS; d++) {
            from[d] = its[i].send.at[d] + at[d];
            to[d] = mine->receive.at[d] + at[d];
        }
        *element(world, rank, to) = *element(world, mine->rank, from);
    } while (next(at, mine->receive.extent));
    return true;
}

static bool is_right(const struct world *world, int rank)
{
    int at[HALO_DIMS] = {0}, extent[HALO_DIMS];

    extents(&world->grid[rank], extent);
    do
        if (*element(world, rank, at) != wanted(world, rank, at)) {
            tap_diag("rank %d, element %d %d %d: %d, wanted %d", rank, at[0], at[1], at[2],
                     *element(world, rank, at), wanted(world, rank, at));
            return false;
        }
    while (next(at, extent));
    return true;
}

static bool exchange(struct world *world)
{
    struct halo_neighbor neighbors[HALO_NEIGHBORS];
    bool good = true;

    for (int rank = 0; rank < world->nranks; rank++)
        fill(world, rank);
    for (int rank = 0; rank < world->nranks && good; rank++) {
        const int n = halo_grid_neighbors(&world->grid[rank], rank, neighbors);

        for (int i = 0; i < n && good; i++)
            good = receive(world, rank, &neighbors[i]);
    }
    for (int rank = 0; rank < world->nranks; rank++) {
        good = good && is_right(world, rank);
        free(world->array[rank]);
    }
    return good;
}

/* ---- random grids */

static struct halo_grid any_grid(void)
{
    struct halo_grid grid = {
        .ndims = 1 + below(3), .corners = below(2) * 7, .nbytes = 4, .base = below(2)};

    for (int d = 0; d < HALO_DIMS; d++) {
        grid.periodic[d] = below(2) * 3;
        grid.width[d] = below(4);
        grid.cells[d] = 4;
        grid.ranks[d] = 0;
    }
    return grid;
}

/* Cuts it, and gives each rank its own cells. */
static bool make(struct world *world, int nranks)
{
    struct halo_grid grid = any_grid();
    const bool padded = below(2);
    int place[HALO_DIMS];

    world->nranks = nranks;
    if (halo_grid_fill(&grid, NULL) < 0 || halo_grid_spread(&grid, nranks, NULL) < 0)
        return false;
    for (int d = 0; d < HALO_DIMS; d++) {
        world->total[d] = 0;
        for (int i = 0; i < grid.ranks[d]; i++) {
            world->cells[d][i] = d < grid.ndims ? 1 + grid.width[d] + below(4) : 1;
            world->total[d] += world->cells[d][i];
        }
    }
    for (int rank = 0; rank < nranks; rank++) {
        halo_grid_place(&grid, rank, place);
        for (int d = 0; d < HALO_DIMS; d++)
            grid.cells[d] = world->cells[d][place[d]];
        grid.pitch = 0;
        if (halo_grid_fill(&grid, NULL) < 0)
            return false;
        grid.pitch += padded ? rank % 3 : 0;
        world->grid[rank] = grid;
    }
    return true;
}

static void ghosts_are_right(void)
{
    static struct world world;
    static int names[MOST_RANKS];
    int wrong = 0, disagree = 0;

    for (int round = 0; round < ROUNDS; round++) {
        if (!make(&world, 1 + below(MOST_RANKS)) || !exchange(&world))
            wrong++;
        disagree += halo_grid_agree(world.grid, names, world.nranks, NULL) < 0;
    }
    tap_is_int(wrong, 0, "every ghost cell has what the global array has there");
    tap_is_int(disagree, 0, "ranks whose sides fit agree");
}

/* ---- how it is cut */

static void cut(int nranks, int a, int b, int c, const int width[3], const char *into)
{
    struct halo_grid grid = {.ndims = 3, .ranks = {a, b, c}, .cells = {9, 9, 9}, .nbytes = 8};
    struct gpubind_error err;
    char got[600];

    memcpy(grid.width, width, sizeof grid.width);
    if (halo_grid_fill(&grid, &err) < 0 || halo_grid_spread(&grid, nranks, &err) < 0)
        snprintf(got, sizeof got, "%s", err.text);
    else
        snprintf(got, sizeof got, "%d %d %d", grid.ranks[0], grid.ranks[1], grid.ranks[2]);
    if (!tap_ok(strstr(got, into) != NULL, "%d ranks as %d x %d x %d: %s", nranks, a, b, c, into))
        tap_diag("got: %s", got);
}

static void is_cut(void)
{
    static const int all[3] = {1, 1, 1}, rows[3] = {1, 0, 0}, none[3];

    cut(8, 0, 0, 0, all, "2 2 2");
    cut(12, 0, 0, 0, all, "3 2 2");
    cut(36, 0, 0, 0, all, "4 3 3");
    cut(7, 0, 0, 0, all, "7 1 1");
    cut(1, 0, 0, 0, all, "1 1 1");
    cut(64, 0, 1, 0, all, "8 1 8");
    cut(12, 0, 2, 0, all, "3 2 2");
    cut(12, 0, 0, 0, rows, "12 1 1");
    cut(12, 1, 0, 0, rows, "1 4 3");
    cut(6, 0, 0, 0, none, "3 2 1");
    cut(6, 3, 2, 1, none, "3 2 1");
    cut(6, 4, 0, 0, all, "4 x 0 x 0 ranks, where 0 is any number, cannot be made of the 6");
    cut(6, 2, 2, 1, all, "2 x 2 x 1 ranks");
    cut(6, 2, 2, 2, all, "2 x 2 x 2 ranks");
    cut(6, 2147483647, 2147483647, 2147483647, all, "2147483647 x 2147483647 x");
    cut(6, -1, 0, 0, all, "ranks[0] is -1");
}

/* ---- what is refused */

static void refuses(struct halo_grid grid, const char *sentence)
{
    struct gpubind_error err = {""};
    const int status = halo_grid_fill(&grid, &err);

    if (!tap_ok(status < 0 && strcmp(err.text, sentence) == 0, "refused: %s", sentence))
        tap_diag("status %d: %s", status, err.text);
}

static void nonsense(void)
{
    const struct halo_grid good = {.ndims = 2, .cells = {4, 5}, .width = {1, 2}, .nbytes = 8};
    struct halo_grid bad = good;

    tap_is_int(halo_grid_fill(&bad, NULL), 0, "a good grid");
    tap_is_int(bad.pitch, 9, "rows lie together");
    bad = good, bad.ndims = 0;
    refuses(bad, "ndims is 0, not 1 to 3");
    bad = good, bad.ndims = 4;
    refuses(bad, "ndims is 4, not 1 to 3");
    bad = good, bad.cells[1] = 0;
    refuses(bad, "cells[1] is 0");
    bad = good, bad.width[0] = -1;
    refuses(bad, "width[0] is -1");
    bad = good, bad.width[1] = 6;
    refuses(bad, "width[1] is 6, which is more than the 5 cells of a rank");
    bad = good, bad.pitch = 8;
    refuses(bad, "the pitch is 8, but a row has 9 elements with its ghost cells");
    bad = good, bad.pitch = -9;
    refuses(bad, "the pitch is -9");
    bad = good, bad.cells[0] = 2147483647;
    refuses(bad, "2147483647 cells and 1 ghost cells on either side are more than 2147483647");
    bad = good, bad.ndims = 3, bad.cells[0] = bad.cells[1] = bad.cells[2] = 2000000000;
    refuses(bad, "an array of this grid has more bytes than can be counted");
    bad = good, bad.cells[2] = bad.width[2] = -7;
    tap_is_int(halo_grid_fill(&bad, NULL), 0, "dimensions from ndims on are not looked at");
}

static void disagrees(struct halo_grid grids[4], const char *sentence)
{
    static const int names[4] = {1, 3, 5, 7};
    struct gpubind_error err = {""};
    const int status = halo_grid_agree(grids, names, 4, &err);

    if (!tap_ok(status < 0 && strcmp(err.text, sentence) == 0, "%s", sentence))
        tap_diag("status %d: %s", status, err.text);
}

static void again(struct halo_grid grids[4], const struct halo_grid *good)
{
    for (int i = 0; i < 4; i++)
        grids[i] = *good;
}

/* 4 ranks, 2 x 2 */
static void disagreement(void)
{
    struct halo_grid good = {.ndims = 2, .cells = {4, 5}, .width = {1, 2}, .nbytes = 8}, grids[4];

    halo_grid_fill(&good, NULL);
    again(grids, &good);
    grids[2].cells[1] = 6;
    disagrees(grids, "ranks 1 and 5 are neighbours, but have 5 and 6 cells along dimension 1");
    again(grids, &good);
    grids[3].cells[0] = 3;
    disagrees(grids, "ranks 5 and 7 are neighbours, but have 4 and 3 cells along dimension 0");
    again(grids, &good);
    grids[3].width[1] = 1;
    disagrees(grids, "ranks 1 and 7 disagree on width[1]: 2 and 1");
    again(grids, &good);
    grids[1].periodic[0] = 1;
    disagrees(grids, "ranks 1 and 3 disagree on periodic[0]: 0 and 1");
    again(grids, &good);
    grids[2].narrays = 2;
    disagrees(grids, "ranks 1 and 5 disagree on narrays: 0 and 2");
    again(grids, &good);
    grids[2].nbytes = 4;
    disagrees(grids, "ranks 1 and 5 disagree on bytes of an element: 8 and 4");
    again(grids, &good);
    for (int i = 0; i < 4; i++)
        grids[i].ranks[0] = 3;
    disagrees(grids, "a grid of 3 x 0 x 1 ranks, where 0 is any number, cannot be made of the 4 "
                     "that have a GPU");
    again(grids, &good);
    grids[0].cells[1] = grids[2].cells[1] = 9;
    tap_is_int(halo_grid_agree(grids, (int[4]){0, 1, 2, 3}, 4, NULL), 0, "an uneven split is none");
}

/* A grid of 2 x 3 ranks in Fortran, whose dimensions are the other way round here. */
static void fortran(void)
{
    struct halo_grid good = {.ndims = 2, .cells = {4, 5}, .width = {1, 2}, .nbytes = 8, .base = 1};
    struct halo_grid bad = good, grids[4];
    int place[HALO_DIMS];

    halo_grid_fill(&good, NULL);
    again(grids, &good);
    halo_grid_spread(&good, 6, NULL);
    halo_grid_place(&good, 4, place);
    tap_ok(good.ranks[0] == 3 && place[1] == 1 && place[0] == 1 && place[2] == 0,
           "rank 4 of 2 x 3 is at (1, 1): the last dimension runs fastest");
    tap_is_int(halo_grid_rank_at(&good, 4, (int[HALO_DIMS]){1, -1, 0}), 2,
               "at (-1, 1) of it is rank 2");
    bad.cells[1] = 0;
    refuses(bad, "cells(1) is 0");
    grids[3].width[1] = 1;
    disagrees(grids, "ranks 1 and 7 disagree on width(1): 2 and 1");
    grids[3].width[1] = 2, grids[3].base = 0;
    disagrees(grids, "ranks 1 and 7 disagree on the language (1: Fortran): 1 and 0");
    grids[3].base = 1, grids[3].cells[1] = 6;
    disagrees(grids, "ranks 5 and 7 are neighbours, but have 5 and 6 cells along dimension 1");
    for (int i = 0; i < 4; i++)
        grids[i].ranks[0] = 3;
    disagrees(grids, "a grid of 0 x 3 x 1 ranks, where 0 is any number, cannot be made of the 4 "
                     "that have a GPU");
}

int main(void)
{
    ghosts_are_right();
    is_cut();
    nonsense();
    disagreement();
    fortran();
    return tap_done();
}
