/* Whether the ranks of a grid mean the same. */
#include <stddef.h>

#include "core/msg/halo_grid.h"

static const struct {
    const char *name;
    size_t at;
    int count;
} common[] = {
    {"ndims", offsetof(struct halo_grid, ndims), 1},
    {"ranks", offsetof(struct halo_grid, ranks), HALO_DIMS},
    {"periodic", offsetof(struct halo_grid, periodic), HALO_DIMS},
    {"width", offsetof(struct halo_grid, width), HALO_DIMS},
    {"corners", offsetof(struct halo_grid, corners), 1},
    {"the language (1: Fortran)", offsetof(struct halo_grid, base), 1},
    {"flags", offsetof(struct halo_grid, in_turn), 1},
    {"narrays", offsetof(struct halo_grid, narrays), 1},
    {"bytes of an element", offsetof(struct halo_grid, nbytes), 1},
};

static int compare(const struct halo_grid *one, const struct halo_grid *other, const int names[2],
                   struct gpubind_error *err)
{
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        const int *a = (const int *)(const void *)((const char *)one + common[i].at);
        const int *b = (const int *)(const void *)((const char *)other + common[i].at);

        for (int d = 0; d < common[i].count; d++) {
            if (a[d] == b[d])
                continue;
            if (common[i].count > 1)
                return error_set(err, "ranks %d and %d disagree on %s: %d and %d", names[0],
                                 names[1], halo_grid_name(one, common[i].name, d).text, a[d], b[d]);
            return error_set(err, "ranks %d and %d disagree on %s: %d and %d", names[0], names[1],
                             common[i].name, a[d], b[d]);
        }
    }
    return 0;
}

/* The side between a rank and one of its neighbours, whose extents are the cells of both
 * along the dimensions that the neighbour does not lie in. */
static int compare_side(const struct halo_grid *grids, const int *names, int rank,
                        const struct halo_neighbor *neighbor, struct gpubind_error *err)
{
    for (int d = 0; d < HALO_DIMS; d++) {
        const int mine = grids[rank].cells[d], its = grids[neighbor->rank].cells[d];

        if (neighbor->offset[d] == 0 && mine != its)
            return error_set(err,
                             "ranks %d and %d are neighbours, but have %d and %d cells along "
                             "dimension %d",
                             names[rank], names[neighbor->rank], mine, its,
                             halo_grid_dim(&grids[rank], d) + grids[rank].base);
    }
    return 0;
}

int halo_grid_agree(const struct halo_grid *grids, const int *names, int nranks,
                    struct gpubind_error *err)
{
    struct halo_neighbor neighbors[HALO_NEIGHBORS];
    struct halo_grid grid;

    for (int rank = 1; rank < nranks; rank++)
        if (compare(&grids[0], &grids[rank], (int[2]){names[0], names[rank]}, err) < 0)
            return -1;
    grid = grids[0];
    if (halo_grid_spread(&grid, nranks, err) < 0)
        return -1;
    for (int rank = 0; rank < nranks; rank++) {
        const int n = halo_grid_neighbors(&grid, rank, neighbors);

        for (int i = 0; i < n; i++)
            if (compare_side(grids, names, rank, &neighbors[i], err) < 0)
                return -1;
    }
    return 0;
}
