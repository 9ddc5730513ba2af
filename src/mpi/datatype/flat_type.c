#include "mpi/datatype/flat_type.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/datatype/strided.h"

struct strides {
    _Atomic int users;
    struct strides *next;   /* of those with a gather, and of those that nobody uses */
    struct strides *orphan;
    struct type_block *blocks; /* NULL: as layout says */
    uint64_t nblocks;
    size_t nbytes;
    MPI_Aint extent;
    uint64_t name;
    enum { UNKNOWN, REGULAR, IRREGULAR } order;
    struct layout layout;   /* of one element, when REGULAR */
    struct gather *gather;
};

static struct strides *gathered;          /* those with a gather */
static struct strides *_Atomic orphans;   /* of these, those without users */
static _Atomic uint64_t names;

struct strides *strides_make(struct type_block *blocks, int nblocks, size_t nbytes,
                             MPI_Aint extent)
{
    struct strides *strides = calloc(1, sizeof *strides);

    if (!strides)
        return NULL;
    strides->users = 1;
    strides->name = atomic_fetch_add(&names, 1) + 1;
    strides->blocks = blocks;
    strides->nblocks = (uint64_t)nblocks;
    strides->nbytes = nbytes;
    strides->extent = extent;
    return strides;
}

struct strides *strides_make_regular(const struct layout *element, size_t nbytes,
                                     MPI_Aint extent)
{
    struct strides *strides = strides_make(NULL, 0, nbytes, extent);

    if (!strides)
        return NULL;
    strides->order = REGULAR;
    strides->layout = *element;
    strides->nblocks = nbytes / element->run;
    return strides;
}

void strides_use(struct strides *strides)
{
    atomic_fetch_add(&strides->users, 1);
}

static void destroy(struct strides *strides)
{
    free(strides->blocks);
    free(strides);
}

/* MPI may free a type at any time, when nobody may call the driver. */
void strides_drop(struct strides *strides)
{
    if (!strides || atomic_fetch_sub(&strides->users, 1) > 1)
        return;
    if (!strides->gather) {
        destroy(strides);
        return;
    }
    strides->orphan = atomic_load(&orphans);
    while (!atomic_compare_exchange_weak(&orphans, &strides->orphan, strides))
        ;
}

static void forget_gather(struct strides *strides)
{
    struct strides **link = &gathered;

    while (*link != strides)
        link = &(*link)->next;
    *link = strides->next;
    gather_free(strides->gather);
    strides->gather = NULL;
}

void strides_sweep(void)
{
    struct strides *strides;

    if (!atomic_load(&orphans))
        return;
    strides = atomic_exchange(&orphans, NULL);
    while (strides) {
        struct strides *next = strides->orphan;

        forget_gather(strides);
        destroy(strides);
        strides = next;
    }
}

void strides_stop(void)
{
    strides_sweep();
    while (gathered)
        forget_gather(gathered);
}

/* count elements of a layout, one after the other. */
static bool repeat(struct layout *layout, uint64_t count, int64_t extent)
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

bool strides_layout(struct strides *strides, uint64_t count, struct layout *layout)
{
    if (strides->order == UNKNOWN) {
        const struct type_blocks element = {strides->nbytes, strides->extent,
                                            (int)strides->nblocks, strides->blocks};

        strides->order = layout_of(&element, 1, &strides->layout) ? REGULAR : IRREGULAR;
    }
    *layout = strides->layout;
    return strides->order == REGULAR && repeat(layout, count, strides->extent);
}

bool type_layout(const struct type_shape *shape, uint64_t count, struct layout *layout)
{
    *layout = (struct layout){.run = count * shape->nbytes, .count = {1, 1, 1}};
    return layout->run == 0 || shape->dense || strides_layout(shape->strides, count, layout);
}

uint64_t strides_name(const struct strides *strides, uint64_t *n, int64_t *extent)
{
    *n = strides->nblocks;
    *extent = strides->extent;
    return strides->name;
}

/* The runs of a layout, in their order. */
struct runs {
    const struct layout *layout;
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

void strides_pieces(const struct strides *strides, struct gather_piece *pieces)
{
    struct runs runs = {&strides->layout, (int64_t)strides->layout.address, {0}};

    for (uint64_t b = 0; b < strides->nblocks; b++)
        pieces[b] = strides->blocks ? (struct gather_piece){strides->blocks[b].at,
                                                            strides->blocks[b].nbytes}
                                    : (struct gather_piece){next_run(&runs), strides->layout.run};
}

struct gather *strides_gather(struct strides *strides)
{
    struct gather_piece *pieces;

    if (strides->gather)
        return strides->gather;
    pieces = malloc(strides->nblocks * sizeof *pieces);
    if (!pieces)
        return NULL;
    strides_pieces(strides, pieces);
    strides->gather = gather_make(pieces, strides->nblocks, strides->extent);
    free(pieces);
    if (!strides->gather)
        return NULL;
    strides->next = gathered;
    gathered = strides;
    return strides->gather;
}

static void copy(char *place, char *dense, uint64_t nbytes, bool spread)
{
    memcpy(spread ? place : dense, spread ? dense : place, nbytes);
}

void strides_copy_on_host(const struct strides *strides, char *strided, char *dense,
                          uint64_t nbytes, bool spread)
{
    struct runs runs = {&strides->layout, (int64_t)strides->layout.address, {0}};

    for (uint64_t done = 0; done < nbytes; strided += strides->extent)
        for (uint64_t b = 0; b < strides->nblocks && done < nbytes; b++) {
            const int64_t at = strides->blocks ? strides->blocks[b].at : next_run(&runs);
            const uint64_t run = strides->blocks ? strides->blocks[b].nbytes : strides->layout.run;
            const uint64_t n = run < nbytes - done ? run : nbytes - done;

            copy(strided + at, dense + done, n, spread);
            done += n;
        }
}
