#include "mpi/datatype/strided.h"

#include <stdlib.h>

#define LEVELS 3      /* of a struct layout */
#define LEVELS_MOST 6 /* some of them lie together with the next */
#define SPLITS_MOST 8 /* pieces that a block is made of, on average */

struct level {
    uint64_t count;
    int64_t stride;
};

/* An element's data, as pieces of one length. */
struct pieces {
    const struct type_block *blocks;
    MPI_Aint *starts; /* NULL: each block is a piece */
    uint64_t n;
    size_t nbytes;
};

static size_t common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Blocks that touch are one in a shape, which makes some longer than others. */
static bool split(struct pieces *pieces, const struct type_blocks *element)
{
    uint64_t n = 0;

    *pieces = (struct pieces){.blocks = element->blocks, .nbytes = element->blocks[0].nbytes};
    for (int b = 1; b < element->nblocks; b++)
        pieces->nbytes = common_divisor(pieces->nbytes, element->blocks[b].nbytes);
    pieces->n = element->nbytes / pieces->nbytes;
    if (pieces->n == (uint64_t)element->nblocks)
        return true;
    if (pieces->n > SPLITS_MOST * (uint64_t)element->nblocks)
        return false;
    pieces->starts = malloc(pieces->n * sizeof *pieces->starts);
    if (!pieces->starts)
        return false;
    for (int b = 0; b < element->nblocks; b++)
        for (size_t at = 0; at < element->blocks[b].nbytes; at += pieces->nbytes)
            pieces->starts[n++] = element->blocks[b].at + (MPI_Aint)at;
    return true;
}

static MPI_Aint start_of(const struct pieces *pieces, uint64_t i)
{
    return pieces->starts ? pieces->starts[i] : pieces->blocks[i].at;
}

/* How often groups of `of` pieces follow at one distance, from the first on. */
static struct level follow(const struct pieces *pieces, uint64_t of)
{
    const MPI_Aint first = start_of(pieces, 0);
    struct level level = {1, 0};

    if (of < pieces->n)
        level.stride = start_of(pieces, of) - first;
    while (level.count * of < pieces->n &&
           start_of(pieces, level.count * of) == first + (MPI_Aint)level.count * level.stride)
        level.count++;
    return level;
}

static bool is_so(const struct pieces *pieces, const struct level *levels, int n)
{
    for (uint64_t i = 0; i < pieces->n; i++) {
        MPI_Aint at = start_of(pieces, 0);
        uint64_t rest = i;

        for (int l = 0; l < n; l++) {
            at += (MPI_Aint)(rest % levels[l].count) * levels[l].stride;
            rest /= levels[l].count;
        }
        if (at != start_of(pieces, i))
            return false;
    }
    return true;
}

/* The number of levels; 0: there is no such order. If there is one the longest row from
 * the first piece on is a row of it, or several that are one. */
static int find_levels(const struct pieces *pieces, struct level *levels)
{
    uint64_t of = 1;
    int n = 0;

    do {
        if (n == LEVELS_MOST - 1 || pieces->n % of)
            return 0;
        levels[n] = follow(pieces, of);
        of *= levels[n++].count;
    } while (of < pieces->n);
    return of == pieces->n && is_so(pieces, levels, n) ? n : 0;
}

/* Leaves out levels that lie together with the one before. */
static bool fill(struct layout *layout, size_t nbytes, const struct level *levels, int n)
{
    struct level kept[LEVELS_MOST];
    int nkept = 0;

    layout->run = nbytes;
    for (int l = 0; l < n; l++) {
        struct level *last = nkept ? &kept[nkept - 1] : NULL;

        if (levels[l].count == 1)
            continue;
        if (!last && levels[l].stride == (int64_t)layout->run)
            layout->run *= levels[l].count;
        else if (last && levels[l].stride == last->stride * (int64_t)last->count)
            last->count *= levels[l].count;
        else
            kept[nkept++] = levels[l];
    }
    if (nkept > LEVELS)
        return false;
    for (int l = 0; l < LEVELS; l++) {
        if (l < nkept && kept[l].count > UINT32_MAX)
            return false;
        layout->count[l] = l < nkept ? (uint32_t)kept[l].count : 1;
        layout->stride[l] = l < nkept ? kept[l].stride : 0;
    }
    return true;
}

bool layout_of(const struct type_blocks *element, uint64_t count, struct layout *layout)
{
    struct level levels[LEVELS_MOST];
    struct pieces pieces;
    int n = 0;
    bool regular;

    *layout = (struct layout){.run = count * element->nbytes, .count = {1, 1, 1}};
    if (layout->run == 0)
        return true;
    layout->address = (cuda_address)element->blocks[0].at;
    regular = split(&pieces, element);
    if (regular)
        n = find_levels(&pieces, levels);
    free(pieces.starts);
    if (!regular || n == 0)
        return false;
    levels[n++] = (struct level){count, element->extent};
    return fill(layout, pieces.nbytes, levels, n);
}
