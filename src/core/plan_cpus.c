/* Cores for every rank. Each has a first one (plan_deal.c); then the ranks with
 * GPUs grow in turn inside their GPU's NUMA node, the others take what is left,
 * and each takes its cores side by side. */
#include <stdlib.h>
#include <string.h>

#include "core/plan_cells.h"

/* The cell that the rank grows into next, or -1. */
static int next_cell(const struct cells *cells, int r)
{
    int kind = cells->kind_of[r], best = -1;
    const int *count = &cells->count[r * cells->ncells];

    for (int cell = 0; cell < cells->ncells; cell++) {
        int look = cells_look(cells, cell, kind), best_look;

        if (look > cells->limit[kind] || !cells_free(cells, cell))
            continue;
        best_look = best < 0 ? CELL_FORBIDDEN : cells_look(cells, best, kind);
        if (look < best_look || (look == best_look && count[cell] && !count[best]))
            best = cell;
    }
    return best;
}

/* One core a turn, until no rank of this sort finds another. */
static void grow(struct cells *cells, bool with_gpu)
{
    bool grown = true;

    while (grown) {
        grown = false;
        for (int r = 0; r < cells->work->plan->nranks; r++) {
            int cell = cells->has_gpu[cells->kind_of[r]] == with_gpu ? next_cell(cells, r) : -1;

            if (cell >= 0) {
                cells_give(cells, r, cell);
                grown = true;
            }
        }
    }
}

/* The ranks with GPUs, or those without, take their cores from the members of the
 * cell that begin at first; returns where the next may begin. */
static int carve(const struct cells *cells, int cell, bool with_gpu, const int *members, int first,
                 bool *owns)
{
    const struct plan *plan = cells->work->plan;
    int ncores = cells->work->node->ncores, left = cells->size[cell] - first, wanted = 0, done = 0;

    for (int r = 0; r < plan->nranks; r++)
        if ((plan->ranks[r].ngpus > 0) == with_gpu)
            wanted += cells->count[r * cells->ncells + cell];
    for (int r = 0; r < plan->nranks && left > 0; r++) {
        int count = cells->count[r * cells->ncells + cell];

        if ((plan->ranks[r].ngpus > 0) != with_gpu)
            continue;
        for (; count > 0; count--, done++) {
            int at = wanted > left ? (int)((long)done * left / wanted) : done;

            owns[r * ncores + members[first + at]] = true;
        }
    }
    return first + (wanted < left ? wanted : left);
}

/* Ranks with GPUs stand before the others, so that a master's core does not
 * shift everybody's. members is scratch for the cell's cores. */
static void carve_cell(const struct cells *cells, int cell, int *members, bool *owns)
{
    int first;

    for (int c = 0, n = 0; c < cells->work->node->ncores; c++)
        if (cells->cell_of[c] == cell)
            members[n++] = c;
    first = carve(cells, cell, true, members, 0, owns);
    carve(cells, cell, false, members, first, owns);
}

static bool same_object(const struct core *a, const struct core *b, enum bind_level level)
{
    switch (level) {
    case BIND_L3:
        return a->l3 >= 0 ? a->l3 == b->l3 : a->numa == b->numa;
    case BIND_NUMA:
        return a->numa == b->numa;
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

/* From the share that the rank owns to what it is bound to. */
static void bind_rank(const struct plan_work *work, int r, const bool *owns)
{
    const struct node *node = work->node;
    const bool *usable = &work->usable[work->class_of[r] * node->ncores];
    enum bind_level level = work->policy->bind;
    int first = 0;

    while (first < node->ncores && !owns[first])
        first++;
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

static int share_cores(struct cells *cells, int *members, bool *owns, struct gpubind_error *err)
{
    if (cells_deal(cells, err) < 0)
        return -1;
    grow(cells, true);
    grow(cells, false);
    for (int cell = 0; cell < cells->ncells; cell++)
        carve_cell(cells, cell, members, owns);
    return 0;
}

int plan_cpus(struct plan_work *work, struct gpubind_error *err)
{
    struct cells cells;
    size_t ncores = (size_t)work->node->ncores;
    bool *owns = calloc((size_t)work->plan->nranks * ncores, sizeof *owns);
    int *members = malloc(ncores * sizeof *members);
    int status = cells_make(work, &cells, err);

    if (status == 0 && owns && members)
        status = share_cores(&cells, members, owns, err);
    else
        status = error_set(err, "out of memory");
    for (int r = 0; status == 0 && r < work->plan->nranks; r++)
        bind_rank(work, r, &owns[(size_t)r * ncores]);
    cells_clear(&cells);
    free(owns);
    free(members);
    return status;
}
