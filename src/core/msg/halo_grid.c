/* The grid of a halo exchange: which rank has which neighbours, and which box goes to each. */
#include "core/msg/halo_grid.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

static int code_of(const int offset[HALO_DIMS], int sign)
{
    int code = 0;

    for (int d = 0; d < HALO_DIMS; d++)
        code = 3 * code + 1 + sign * offset[d];
    return code;
}

int halo_grid_dim(const struct halo_grid *grid, int i)
{
    return grid->base && i < grid->ndims ? grid->ndims - 1 - i : i;
}

struct halo_name halo_grid_name(const struct halo_grid *grid, const char *what, int dim)
{
    struct halo_name name;

    snprintf(name.text, sizeof name.text, grid->base ? "%s(%d)" : "%s[%d]", what,
             halo_grid_dim(grid, dim) + grid->base);
    return name;
}

static int check_dimension(const struct halo_grid *grid, int d, struct gpubind_error *err)
{
    const int cells = grid->cells[d], width = grid->width[d];

    if (grid->ranks[d] < 0)
        return error_set(err, "%s is %d", halo_grid_name(grid, "ranks", d).text, grid->ranks[d]);
    if (cells < 1)
        return error_set(err, "%s is %d", halo_grid_name(grid, "cells", d).text, cells);
    if (width < 0)
        return error_set(err, "%s is %d", halo_grid_name(grid, "width", d).text, width);
    if (width > cells)
        return error_set(err, "%s is %d, which is more than the %d cells of a rank",
                         halo_grid_name(grid, "width", d).text, width, cells);
    if ((int64_t)cells + 2 * (int64_t)width > INT_MAX)
        return error_set(err, "%d cells and %d ghost cells on either side are more than %d", cells,
                         width, INT_MAX);
    return 0;
}

static int check_pitch(struct halo_grid *grid, struct gpubind_error *err)
{
    const int last = grid->ndims - 1, row = grid->cells[last] + 2 * grid->width[last];
    int64_t room = INT64_MAX / (grid->nbytes > 0 ? grid->nbytes : 1);

    if (grid->pitch != 0 && grid->pitch < row)
        return error_set(err, "the pitch is %d, but a row has %d elements with its ghost cells",
                         grid->pitch, row);
    if (grid->pitch == 0)
        grid->pitch = row;
    for (int d = 0; d < grid->ndims; d++)
        room /= halo_grid_length(grid, d);
    return room > 0 ? 0
                    : error_set(err, "an array of this grid has more bytes than can be counted");
}

int halo_grid_fill(struct halo_grid *grid, struct gpubind_error *err)
{
    if (grid->ndims < 1 || grid->ndims > HALO_DIMS)
        return error_set(err, "ndims is %d, not 1 to %d", grid->ndims, HALO_DIMS);
    if (grid->pitch < 0)
        return error_set(err, "the pitch is %d", grid->pitch);
    for (int d = 0; d < HALO_DIMS; d++) {
        const bool used = d < grid->ndims;

        grid->periodic[d] = used && grid->periodic[d] != 0;
        grid->ranks[d] = used ? grid->ranks[d] : 1;
        grid->cells[d] = used ? grid->cells[d] : 1;
        grid->width[d] = used ? grid->width[d] : 0;
        if (check_dimension(grid, d, err) < 0)
            return -1;
    }
    grid->corners = grid->corners != 0;
    return check_pitch(grid, err);
}

int halo_grid_length(const struct halo_grid *grid, int dim)
{
    return dim == grid->ndims - 1 ? grid->pitch : grid->cells[dim] + 2 * grid->width[dim];
}

/* ---- how many ranks along each dimension */

/* n as a product of nparts factors, the largest first, with the smallest sum; of equal
 * sums the one with the smallest first factor. */
static void split(int n, int nparts, int parts[HALO_DIMS])
{
    int64_t best = INT64_MAX;

    if (nparts == 1) {
        parts[0] = n;
        return;
    }
    for (int first = 1; first <= n; first++) {
        int rest[HALO_DIMS] = {0};
        int64_t sum = first;

        if (n % first != 0)
            continue;
        split(n / first, nparts - 1, rest);
        for (int i = 0; i < nparts - 1; i++)
            sum += rest[i];
        if (rest[0] > first || sum >= best)
            continue;
        best = sum;
        parts[0] = first;
        for (int i = 1; i < nparts; i++)
            parts[i] = rest[i - 1];
    }
}

/* What there is to choose from; false: the given numbers do not divide nranks. */
static bool count_given(const struct halo_grid *grid, int nranks, int64_t *given, int *nwide)
{
    int nfree = 0;

    *given = 1;
    *nwide = 0;
    for (int d = 0; d < HALO_DIMS; d++) {
        if (grid->ranks[d] > nranks)
            return false;
        *given *= grid->ranks[d] > 0 ? grid->ranks[d] : 1;
        nfree += grid->ranks[d] == 0;
        *nwide += grid->ranks[d] == 0 && grid->width[d] > 0;
    }
    return nfree > 0 ? nranks % *given == 0 : nranks == *given;
}

int halo_grid_spread(struct halo_grid *grid, int nranks, struct gpubind_error *err)
{
    int parts[HALO_DIMS] = {1, 1, 1}, which[HALO_DIMS], nparts = 0, nwide;
    int64_t given;

    if (!count_given(grid, nranks, &given, &nwide))
        return error_set(err,
                         "a grid of %d x %d x %d ranks, where 0 is any number, cannot be made "
                         "of the %d that have a GPU",
                         grid->ranks[halo_grid_dim(grid, 0)], grid->ranks[halo_grid_dim(grid, 1)],
                         grid->ranks[halo_grid_dim(grid, 2)], nranks);
    for (int d = 0; d < HALO_DIMS; d++) {
        if (grid->ranks[d] == 0 && (nwide == 0 || grid->width[d] > 0))
            which[nparts++] = d;
        else if (grid->ranks[d] == 0)
            grid->ranks[d] = 1;
    }
    if (nparts > 0)
        split((int)(nranks / given), nparts, parts);
    for (int i = 0; i < nparts; i++)
        grid->ranks[which[i]] = parts[i];
    return 0;
}

/* ---- who and where */

void halo_grid_place(const struct halo_grid *grid, int rank, int place[HALO_DIMS])
{
    for (int i = HALO_DIMS - 1; i >= 0; i--) {
        const int d = halo_grid_dim(grid, i);

        place[d] = rank % grid->ranks[d];
        rank /= grid->ranks[d];
    }
}

int halo_grid_rank_at(const struct halo_grid *grid, int rank, const int offset[HALO_DIMS])
{
    int place[HALO_DIMS], other = 0;

    halo_grid_place(grid, rank, place);
    for (int i = 0; i < HALO_DIMS; i++) {
        const int d = halo_grid_dim(grid, i), at = place[d] + offset[d];

        if (!grid->periodic[d] && (at < 0 || at >= grid->ranks[d]))
            return -1;
        other = other * grid->ranks[d] + (at + grid->ranks[d]) % grid->ranks[d];
    }
    return other;
}

/* At an offset the ghost cells outside, and the cells inside that are the other's ghosts. */
static void find_boxes(const struct halo_grid *grid, struct halo_neighbor *neighbor)
{
    for (int d = 0; d < HALO_DIMS; d++) {
        const int width = grid->width[d], cells = grid->cells[d], side = neighbor->offset[d];

        neighbor->send.extent[d] = neighbor->receive.extent[d] = side ? width : cells;
        neighbor->send.at[d] = side > 0 ? cells : width;
        neighbor->receive.at[d] = side < 0 ? 0 : side > 0 ? width + cells : width;
    }
}

/* Something goes that way: there are ghost cells, and edges and corners are wanted. */
static bool is_exchanged(const struct halo_grid *grid, const int offset[HALO_DIMS])
{
    int sides = 0;

    for (int d = 0; d < HALO_DIMS; d++) {
        if (offset[d] != 0 && grid->width[d] == 0)
            return false;
        sides += offset[d] != 0;
    }
    return sides == 1 || (sides > 1 && grid->corners);
}

int halo_grid_neighbors(const struct halo_grid *grid, int rank,
                        struct halo_neighbor neighbors[HALO_NEIGHBORS])
{
    int n = 0;

    for (int code = 0; code < 27; code++) {
        const int offset[HALO_DIMS] = {code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1};
        const int other = is_exchanged(grid, offset) ? halo_grid_rank_at(grid, rank, offset) : -1;
        struct halo_neighbor *neighbor = &neighbors[n];

        if (other < 0)
            continue;
        for (int d = 0; d < HALO_DIMS; d++)
            neighbor->offset[d] = offset[d];
        neighbor->rank = other;
        neighbor->send_code = code_of(offset, 1);
        neighbor->receive_code = code_of(offset, -1); /* it came the other way */
        find_boxes(grid, neighbor);
        n++;
    }
    return n;
}
