/* Finds the nested strides of a list of blocks. */
#include "mpi/datatype/strided.h"

#include <stdlib.h>

#define LEVELS 3     /* of a struct strided_buffer */
#define LEVELS_MAX 6 /* before contiguous levels are merged */
#define SPLITS_MAX 8 /* pieces per block, on average */

struct level {
    uint64_t count;
    int64_t stride;
};

/* The blocks of an element, split into pieces of one length. */
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

/* Splits the blocks into pieces of their common length: adjacent blocks were merged when the type
 * was flattened, so that some are longer than others. */
static bool split(struct pieces *pieces, const struct type_blocks *element)
{
    uint64_t n = 0;

    *pieces = (struct pieces){.blocks = element->blocks, .nbytes = element->blocks[0].nbytes};
    for (int b = 1; b < element->nblocks; b++)
        pieces->nbytes = common_divisor(pieces->nbytes, element->blocks[b].nbytes);
    pieces->n = element->nbytes / pieces->nbytes;
    if (pieces->n == (uint64_t)element->nblocks)
        return true;
    if (pieces->n > SPLITS_MAX * (uint64_t)element->nblocks)
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

/* Counts the groups of `of` pieces that follow the first at a constant stride. */
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

static bool are_at_levels(const struct pieces *pieces, const struct level *levels, int n)
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

/* Returns the number of levels, 0: irregular. In a regular order, the longest run of pieces at one
 * stride, from the first piece on, is one level, or several levels that are contiguous. */
static int find_levels(const struct pieces *pieces, struct level *levels)
{
    uint64_t of = 1;
    int n = 0;

    do {
        if (n == LEVELS_MAX - 1 || pieces->n % of)
            return 0;
        levels[n] = follow(pieces, of);
        of *= levels[n++].count;
    } while (of < pieces->n);
    return of == pieces->n && are_at_levels(pieces, levels, n) ? n : 0;
}

/* Fills the layout, merging levels that are contiguous with the level below. */
static bool fill(struct strided_buffer *layout, size_t nbytes, const struct level *levels, int n)
{
    struct level kept[LEVELS_MAX];
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

bool layout_of(const struct type_blocks *element, uint64_t count, struct strided_buffer *layout)
{
    struct level levels[LEVELS_MAX];
    struct pieces pieces;
    int n = 0;
    bool regular;

    *layout = (struct strided_buffer){.run = count * element->nbytes, .count = {1, 1, 1}};
    if (layout->run == 0)
        return true;
    layout->address = (gpu_address)element->blocks[0].at;
    regular = split(&pieces, element);
    if (regular)
        n = find_levels(&pieces, levels);
    free(pieces.starts);
    if (!regular || n == 0)
        return false;
    levels[n++] = (struct level){count, element->extent};
    return fill(layout, pieces.nbytes, levels, n);
}
