/* Flattened datatypes: as a list of blocks, a layout, and a table for gather kernels. */
#include "mpi/datatype/flat_type.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "mpi/datatype/strided.h"

struct flat_type {
    _Atomic int users;
    struct flat_type *next; /* in the list of those with a table */
    struct flat_type *next_unused;
    struct type_block *blocks; /* NULL: `layout` has them */
    uint64_t nblocks;
    size_t nbytes;
    MPI_Aint extent;
    uint64_t name;
    enum { UNKNOWN, REGULAR, IRREGULAR } order;
    struct strided_buffer layout; /* of one element, when REGULAR */
    struct iov_table *table;
};

static QUEUE_OF(struct flat_type) with_table; /* those with a table */
static struct flat_type *_Atomic unused;      /* those of them without users */
static _Atomic uint64_t names;

struct flat_type *flat_type_make(struct type_block *blocks, int nblocks, size_t nbytes,
                                 MPI_Aint extent)
{
    struct flat_type *flat = calloc(1, sizeof *flat);

    if (!flat)
        return NULL;
    flat->users = 1;
    flat->name = atomic_fetch_add(&names, 1) + 1;
    flat->blocks = blocks;
    flat->nblocks = (uint64_t)nblocks;
    flat->nbytes = nbytes;
    flat->extent = extent;
    return flat;
}

struct flat_type *flat_type_make_regular(const struct strided_buffer *element, size_t nbytes,
                                         MPI_Aint extent)
{
    struct flat_type *flat = flat_type_make(NULL, 0, nbytes, extent);

    if (!flat)
        return NULL;
    flat->order = REGULAR;
    flat->layout = *element;
    flat->nblocks = nbytes / element->run;
    return flat;
}

void flat_type_retain(struct flat_type *flat)
{
    atomic_fetch_add(&flat->users, 1);
}

static void destroy(struct flat_type *flat)
{
    free(flat->blocks);
    free(flat);
}

/* MPI may free a type in any thread, where the driver must not be called. */
void flat_type_release(struct flat_type *flat)
{
    if (!flat || atomic_fetch_sub(&flat->users, 1) > 1)
        return;
    if (!flat->table) {
        destroy(flat);
        return;
    }
    flat->next_unused = atomic_load(&unused);
    while (!atomic_compare_exchange_weak(&unused, &flat->next_unused, flat))
        ;
}

static void forget_table(struct flat_type *flat)
{
    QUEUE_REMOVE(&with_table, flat, next);
    iov_table_free(flat->table);
    flat->table = NULL;
}

void flat_type_sweep(void)
{
    struct flat_type *flat;

    if (!atomic_load(&unused))
        return;
    flat = atomic_exchange(&unused, NULL);
    while (flat) {
        struct flat_type *next = flat->next_unused;

        forget_table(flat);
        destroy(flat);
        flat = next;
    }
}

void flat_type_stop(void)
{
    flat_type_sweep();
    while (!QUEUE_EMPTY(&with_table))
        forget_table(with_table.first);
}

/* Makes the layout of an element that of count elements. */
static bool repeat(struct strided_buffer *layout, uint64_t count, int64_t extent)
{
    int level = 0;

    while (level < 3 && layout->count[level] > 1)
        level++;
    if (count == 1)
        return true;
    if (level == 0 && extent == (int64_t)layout->run) {
        layout->run *= count;
        return true;
    }
    if (level > 0 && extent == layout->stride[level - 1] * (int64_t)layout->count[level - 1] &&
        count * layout->count[level - 1] <= UINT32_MAX) {
        layout->count[level - 1] *= (uint32_t)count;
        return true;
    }
    if (level == 3 || count > UINT32_MAX)
        return false;
    layout->count[level] = (uint32_t)count;
    layout->stride[level] = extent;
    return true;
}

bool flat_type_layout(struct flat_type *flat, uint64_t count, struct strided_buffer *layout)
{
    if (flat->order == UNKNOWN) {
        const struct type_blocks element = {flat->nbytes, flat->extent, (int)flat->nblocks,
                                            flat->blocks};

        flat->order = layout_of(&element, 1, &flat->layout) ? REGULAR : IRREGULAR;
    }
    *layout = flat->layout;
    return flat->order == REGULAR && repeat(layout, count, flat->extent);
}

bool type_layout(const struct type_shape *shape, uint64_t count, struct strided_buffer *layout)
{
    *layout = (struct strided_buffer){.run = count * shape->nbytes, .count = {1, 1, 1}};
    return layout->run == 0 || shape->dense || flat_type_layout(shape->flat, count, layout);
}

uint64_t flat_type_name(const struct flat_type *flat, uint64_t *n, int64_t *extent)
{
    *n = flat->nblocks;
    *extent = flat->extent;
    return flat->name;
}

/* The runs of a layout, in their order. */
struct runs {
    const struct strided_buffer *layout;
    int64_t at; /* of the next one, from the buffer */
    uint32_t index[3];
};

static int64_t next_run(struct runs *runs)
{
    const int64_t at = runs->at;

    for (int l = 0; l < 3; l++) {
        runs->at += runs->layout->stride[l];
        if (++runs->index[l] < runs->layout->count[l])
            break;
        runs->at -= runs->layout->stride[l] * (int64_t)runs->index[l];
        runs->index[l] = 0;
    }
    return at;
}

void flat_type_iov(const struct flat_type *flat, struct iov_block *iov)
{
    struct runs runs = {&flat->layout, (int64_t)flat->layout.address, {0}};

    for (uint64_t b = 0; b < flat->nblocks; b++)
        iov[b] = flat->blocks ? (struct iov_block){flat->blocks[b].at, flat->blocks[b].nbytes}
                              : (struct iov_block){next_run(&runs), flat->layout.run};
}

struct iov_table *flat_type_iov_table(struct flat_type *flat)
{
    struct iov_block *iov;

    if (flat->table)
        return flat->table;
    iov = malloc(flat->nblocks * sizeof *iov);
    if (!iov)
        return NULL;
    flat_type_iov(flat, iov);
    flat->table = iov_table_make(iov, flat->nblocks, flat->extent);
    free(iov);
    if (!flat->table)
        return NULL;
    QUEUE_PUSH_FRONT(&with_table, flat, next);
    return flat->table;
}

static void copy(char *place, char *dense, uint64_t nbytes, bool scatter)
{
    memcpy(scatter ? place : dense, scatter ? dense : place, nbytes);
}

void flat_type_copy_on_host(const struct flat_type *flat, char *strided, char *dense,
                            uint64_t nbytes, bool scatter)
{
    struct runs runs = {&flat->layout, (int64_t)flat->layout.address, {0}};

    for (uint64_t done = 0; done < nbytes; strided += flat->extent)
        for (uint64_t b = 0; b < flat->nblocks && done < nbytes; b++) {
            const int64_t at = flat->blocks ? flat->blocks[b].at : next_run(&runs);
            const uint64_t run = flat->blocks ? flat->blocks[b].nbytes : flat->layout.run;
            const uint64_t n = run < nbytes - done ? run : nbytes - done;

            copy(strided + at, dense + done, n, scatter);
            done += n;
        }
}
