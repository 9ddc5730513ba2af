/* Cores for every rank. Each has a first one (first_core.c); then the ranks with GPUs
 * grow in turn inside their GPU's NUMA node, then all ranks over what is left, the
 * nearest first; plan_shares.c makes cores of the counts. */
#include <stdlib.h>
#include <string.h>

#include "core/plan/core_groups.h"

/* How unwilling the rank is to have cores of the cell. Those without a GPU keep away from
 * the GPUs that others have. */
static int reluctance(const struct cells *cells, int cell, int kind)
{
    int nearest = 3;

    if (cells_look(cells, cell, kind) >= CELL_WITHHELD || cells->has_gpu[kind])
        return cells_look(cells, cell, kind);
    for (int k = 0; k < cells->nkinds; k++)
        if (cells->has_gpu[k] && cells_look(cells, cell, k) < nearest)
            nearest = cells_look(cells, cell, k);
    return 3 - nearest;
}

/* Whether the rank may grow into the cell in that round. Round 1 is for ranks with GPUs, up
 * to their limits; in round 2 the others grow where they are; in round 3 all do anywhere.
 * To pack is to use as few NUMA nodes as will do. */
static bool is_open(const struct cells *cells, int r, int cell, int round)
{
    int kind = cells->kind_of[r], look = cells_look(cells, cell, kind);
    bool has_gpu = cells->has_gpu[kind];

    if (look == CELL_FORBIDDEN || !cells_free(cells, cell) || (round == 1 && !has_gpu))
        return false;
    if (round == 2 && !has_gpu && !cells->count[r * cells->ncells + cell])
        return false;
    if (look <= cells->limit[kind])
        return true;
    return look <= round && cells->work->policy->gpus != POLICY_PACK;
}

/* The cell that the rank grows into next, or -1. */
static int next_cell(const struct cells *cells, int r, int round)
{
    int kind = cells->kind_of[r], best = -1, best_value = CELL_FORBIDDEN;
    const int *count = &cells->count[r * cells->ncells];

    for (int cell = 0; cell < cells->ncells; cell++) {
        int value;

        if (!is_open(cells, r, cell, round))
            continue;
        value = reluctance(cells, cell, kind);
        if (value < best_value || (value == best_value && count[cell] && !count[best])) {
            best = cell;
            best_value = value;
        }
    }
    return best;
}

static int count_free(const struct cells *cells)
{
    int left = 0;

    for (int cell = 0; cell < cells->ncells; cell++)
        left += cells_free(cells, cell);
    return left;
}

/* A round of growth, one core a turn, those with the fewest first, until no rank finds
 * another. */
static void grow(struct cells *cells, int round)
{
    int left = count_free(cells);

    for (int turn = 0; left && turn <= cells->work->node->ncores; turn++)
        for (int r = 0; r < cells->work->plan->nranks; r++) {
            int cell = -1;

            if (cells->total[r] <= turn)
                cell = next_cell(cells, r, round);
            if (cell >= 0) {
                cells_give(cells, r, cell);
                left--;
            }
        }
}

static bool same_object(const struct core *a, const struct core *b, enum bind_level level)
{
    switch (level) {
    case BIND_L3:
        return a->l3 >= 0 ? a->l3 == b->l3 : a->domain == b->domain;
    case BIND_NUMA:
        return a->domain == b->domain;
    case BIND_PACKAGE:
        return a->package == b->package;
    default:
        return false;
    }
}

static void add_core(const struct plan_work *work, int r, const struct core *core)
{
    struct plan_rank *rank = &work->plan->ranks[r];
    const struct idset *allowed = &work->job->ranks[r].cpus;
    bool all = !work->policy->smt || work->policy->bind == BIND_NONE;
    int used = 0, smt = all ? NODE_MAX_SMT : work->policy->smt;
    bool inside = false;

    for (int p = 0; p < core->npus; p++)
        inside |= idset_has(allowed, core->pu[p]);
    for (int p = 0; p < core->npus && used < smt; p++)
        if (!inside || idset_has(allowed, core->pu[p])) {
            idset_add(&rank->cpus, core->pu[p]);
            used++;
        }
    rank->ncores++;
    idset_add(&rank->numas, core->numa);
}

/* The first of the cores that the rank owns, of those nearest to its GPUs; ncores when
 * it has none. */
static int find_first(const struct cells *cells, int r, const bool *owns)
{
    int ncores = cells->work->node->ncores, first = ncores, nearest = CELL_FORBIDDEN;

    for (int c = 0; c < ncores; c++) {
        int look = cells_look(cells, cells->cell_of[c], cells->kind_of[r]);

        if (owns[c] && look < nearest) {
            first = c;
            nearest = look;
        }
    }
    return first;
}

/* From the share that the rank owns to what it is bound to. */
static void bind_rank(const struct cells *cells, int r, const bool *owns)
{
    const struct plan_work *work = cells->work;
    const struct node *node = work->node;
    const bool *usable = &work->usable[work->class_of[r] * node->ncores];
    enum bind_level level = work->policy->bind;
    int first = find_first(cells, r, owns);

    for (int c = 0; c < node->ncores; c++) {
        bool take = owns[c];

        if (level == BIND_NONE || first == node->ncores)
            take = usable[c];
        else if (level != BIND_GPU)
            take = c == first ||
                   (usable[c] && same_object(&node->cores[first], &node->cores[c], level));
        if (take)
            add_core(work, r, &node->cores[c]);
    }
}

static int share_cores(struct cells *cells, bool *owns, struct gpubind_error *err)
{
    if (cells_deal(cells, err) < 0)
        return -1;
    for (int round = 1; round <= 3; round++)
        grow(cells, round);
    return cells_share(cells, owns, err);
}

int plan_cpus(struct plan_work *work, struct gpubind_error *err)
{
    struct cells cells;
    size_t ncores = (size_t)work->node->ncores;
    bool *owns = calloc((size_t)work->plan->nranks * ncores, sizeof *owns);
    int status = cells_make(work, &cells, err);

    if (status == 0)
        status = owns ? share_cores(&cells, owns, err) : error_set(err, "out of memory");
    for (int r = 0; status == 0 && r < work->plan->nranks; r++)
        bind_rank(&cells, r, &owns[(size_t)r * ncores]);
    cells_clear(&cells);
    free(owns);
    return status;
}
