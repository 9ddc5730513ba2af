#include "aware/memory/sparse_block.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 1024 /* ranges: a process may have 65530 mappings */
#define FIRST_GAP ((size_t)1 << 20)
#define WIDER 16 /* times the last gap, where there are too many ranges */
/* Shifts that are tried: this far from the first one, and twice, three times, ... on both sides. */
#define STEP ((uintptr_t)257 << 30)
#define TRIES 512

void sparse_begin(struct sparse_block *block)
{
    *block = (struct sparse_block){.gap = FIRST_GAP};
}

/* ---- ranges */

static int by_address(const void *a, const void *b)
{
    const struct sparse_range *first = a, *second = b;

    return (first->low > second->low) - (first->low < second->low);
}

static bool are_near(const struct sparse_range *low, uintptr_t high, size_t gap)
{
    return high <= low->high || high - low->high <= gap;
}

static void join(struct sparse_block *block)
{
    int n = 0;

    qsort(block->ranges, (size_t)block->n, sizeof *block->ranges, by_address);
    for (int i = 1; i < block->n; i++) {
        const struct sparse_range range = block->ranges[i];

        if (!are_near(&block->ranges[n], range.low, block->gap))
            block->ranges[++n] = range;
        else if (range.high > block->ranges[n].high)
            block->ranges[n].high = range.high;
    }
    block->n = n + (block->n > 0);
}

static bool make_room(struct sparse_block *block)
{
    struct sparse_range *ranges;
    int room;

    if (block->n < block->room)
        return true;
    if (block->room < MOST) {
        room = block->room > 0 ? 4 * block->room : 16;
        ranges = realloc(block->ranges, (size_t)room * sizeof *ranges);
        if (!ranges)
            return false;
        block->ranges = ranges;
        block->room = room;
        return true;
    }
    for (join(block); block->n > MOST / 2; join(block))
        block->gap *= WIDER;
    return true;
}

void sparse_add(struct sparse_block *block, const void *at, size_t nbytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const struct sparse_range range = {(uintptr_t)at & ~(page - 1),
                                       ((uintptr_t)at + nbytes + page - 1) & ~(page - 1)};
    struct sparse_range *last = block->n > 0 ? &block->ranges[block->n - 1] : NULL;

    if (nbytes == 0)
        return;
    if (last && range.low >= last->low && are_near(last, range.low, block->gap)) {
        if (range.high > last->high)
            last->high = range.high;
    } else if (make_room(block)) {
        block->ranges[block->n++] = range;
    } else {
        block->failed = true;
    }
}

/* ---- memory */

static void *map(void *at, size_t nbytes, int flags)
{
    return mmap(at, nbytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

static void unmap(const struct sparse_block *block, int n)
{
    for (int i = 0; i < n; i++)
        munmap((void *)(block->ranges[i].low + block->shift),
               block->ranges[i].high - block->ranges[i].low);
}

/* false: somebody's memory is there, or there is none. */
static bool map_at(struct sparse_block *block, uintptr_t shift)
{
    block->shift = shift;
    for (int i = 0; i < block->n; i++) {
        const struct sparse_range range = block->ranges[i];
        void *const wanted = (void *)(range.low + shift);
        void *const got = map(wanted, range.high - range.low, MAP_FIXED_NOREPLACE);

        if (got != MAP_FAILED && got != wanted) /* a kernel before 4.17 knows no such flag */
            munmap(got, range.high - range.low);
        if (got != wanted) {
            unmap(block, i);
            return false;
        }
    }
    return true;
}

/* The first shift brings the highest range to where the system has room for it, which is high. */
bool sparse_map(struct sparse_block *block)
{
    const struct sparse_range *range;
    void *room;

    if (block->failed)
        return false;
    if (block->n == 0)
        return true;
    join(block);
    range = &block->ranges[block->n - 1];
    room = map(NULL, range->high - range->low, 0);
    if (room == MAP_FAILED)
        return false;
    munmap(room, range->high - range->low);
    for (int i = 0; i < TRIES; i++) {
        const uintptr_t away = (uintptr_t)((i + 1) / 2) * STEP;

        if (map_at(block, (uintptr_t)room - range->low + (i % 2 ? -away : away)))
            return true;
    }
    block->shift = 0;
    return false;
}

void sparse_give(struct sparse_block *block)
{
    if (block->shift != 0)
        unmap(block, block->n);
    free(block->ranges);
    sparse_begin(block);
}
