/* Ranks and cores in groups of equals, for the assignment of cores. Internal to the plan. */
#ifndef GPUBIND_CORE_PLAN_CORE_GROUPS_H
#define GPUBIND_CORE_PLAN_CORE_GROUPS_H

#include "core/plan/plan_internal.h"

#define CELL_FORBIDDEN 255
/* As far as can be: cores that are others', beside those that a rank may use. */
#define CELL_WITHHELD 4

struct cells {
    struct plan_work *work;
    /* Ranks of a kind have equal CPUs and equal GPUs. */
    int nkinds;
    int *kind_of;   /* of each rank */
    bool *has_gpu;  /* of each kind */
    int *limit;     /* of each kind: how far its ranks reach before all cores are dealt out */
    bool *withheld; /* of each core: near GPUs that the job leaves to others */
    /* Cores of a cell look alike to every kind. */
    int ncells;
    int *cell_of;   /* of each core */
    int *size;      /* cores of each cell */
    unsigned char *look; /* ncells * nkinds: distance, or one of the above */
    int *count;     /* nranks * ncells: cores of the cell that a rank gets */
    int *taken;     /* of each cell: the sum of its counts */
    int *total;     /* of each rank: the sum of its counts */
};

/* GPUs are assigned already; counts are zero. The caller clears, also after a
 * failure. */
int cells_make(struct plan_work *work, struct cells *cells, struct gpubind_error *err);
void cells_clear(struct cells *cells);

/* Gives one more core of the cell to the rank. */
static inline void cells_give(struct cells *cells, int rank, int cell)
{
    cells->count[rank * cells->ncells + cell]++;
    cells->taken[cell]++;
    cells->total[rank]++;
}

/* Takes it back. */
static inline void cells_take(struct cells *cells, int rank, int cell)
{
    cells->count[rank * cells->ncells + cell]--;
    cells->taken[cell]--;
    cells->total[rank]--;
}

/* Cores of the cell that no rank has yet. */
static inline int cells_free(const struct cells *cells, int cell)
{
    int left = cells->size[cell] - cells->taken[cell];

    return left > 0 ? left : 0;
}

/* first_core.c: counts of one for the ranks' first cores. Ranks that cannot have
 * one get none, and the plan a note. */
int cells_deal(struct cells *cells, struct gpubind_error *err);

static inline int cells_look(const struct cells *cells, int cell, int kind)
{
    return cells->look[cell * cells->nkinds + kind];
}

/* plan_shares.c: from counts to cores. owns: nranks * ncores, false; becomes true where
 * the rank has the core. */
int cells_share(const struct cells *cells, bool *owns, struct gpubind_error *err);

#endif
