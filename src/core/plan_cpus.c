/* Cores for every rank. A flow gives each one core, the nearest that leaves
 * enough for the others; then the ranks with GPUs grow in turn inside their
 * GPU's NUMA node, and the others take what is left. Where there are fewer cores
 * than ranks, the ranks with GPUs share them evenly. */
#include <stdlib.h>
#include <string.h>

#include "core/flow.h"
#include "core/plan_cells.h"

/* How a round of first cores is played. */
struct deal {
    const bool *plays; /* of each kind */
    int per_core;      /* ranks that may have the same core */
};

/* Ranks without GPU keep away from the cores that are near somebody's GPU. */
static long first_core_cost(const struct cells *cells, int kind, int cell)
{
    if (cells->has_gpu[kind])
        return cells_look(cells, cell, kind);
    for (int k = 0; k < cells->nkinds; k++)
        if (cells->has_gpu[k] && cells_look(cells, cell, k) <= cells->limit[k])
            return 1;
    return 0;
}

/* Nodes of the graph, in this order: source, sink, kinds, cells. Returns the
 * number of ranks that play. */
static int add_arcs(const struct cells *cells, const struct deal *deal, struct flow *flow)
{
    int cell0 = 2 + cells->nkinds, wanted = 0;

    for (int k = 0; k < cells->nkinds; k++) {
        int supply = 0;

        for (int r = 0; r < cells->work->plan->nranks; r++)
            supply += deal->plays[k] && cells->kind_of[r] == k;
        wanted += supply;
        flow_add(flow, 0, 2 + k, supply, 0);
        for (int cell = 0; cell < cells->ncells; cell++) {
            long cost[FLOW_PARTS] = {first_core_cost(cells, k, cell)};

            if (cells_look(cells, cell, k) != CELL_FORBIDDEN)
                flow_add(flow, 2 + k, cell0 + cell, supply, flow_cost_of(cost));
        }
    }
    for (int cell = 0; cell < cells->ncells; cell++)
        flow_add(flow, cell0 + cell, 1, cells->size[cell] * deal->per_core, 0);
    return wanted;
}

/* The ranks of a kind take what their kind got, in order of rank. The arcs of a
 * kind follow each other. */
static void read_flow(struct cells *cells, const struct flow *flow)
{
    int cell0 = 2 + cells->nkinds, kind = -1, r = 0;

    for (int a = 0; a < flow->narcs; a++) {
        const struct flow_arc *arc = &flow->arcs[a];

        if (arc->from < 2 || arc->from >= cell0)
            continue;
        if (arc->from - 2 != kind) {
            kind = arc->from - 2;
            r = 0;
        }
        for (int left = arc->flow; left; r++)
            if (cells->kind_of[r] == kind) {
                cells->count[r * cells->ncells + arc->to - cell0] = 1;
                left--;
            }
    }
}

/* 1 when every rank that plays got a core, 0 when not, -1 on failure. */
static int deal_first(struct cells *cells, const struct deal *deal, struct gpubind_error *err)
{
    struct flow flow;
    int done;

    if (flow_make(&flow, 2 + cells->nkinds + cells->ncells,
                  cells->nkinds * (cells->ncells + 1) + cells->ncells, err) < 0)
        return -1;
    done = add_arcs(cells, deal, &flow) == flow_solve(&flow, 0, 1);
    if (done)
        read_flow(cells, &flow);
    flow_clear(&flow);
    return done;
}

/* First cores for all; else for those who need them most; else several ranks a
 * core. Returns the largest number of ranks a core, or -1. */
static int deal_cores(struct cells *cells, struct gpubind_error *err)
{
    struct plan *plan = cells->work->plan;
    bool *plays = malloc((size_t)cells->nkinds * sizeof *plays);
    struct deal deal = {.plays = plays, .per_core = 1};
    bool any_gpu = false;
    int done, nplaying = 0;

    if (!plays)
        return error_set(err, "out of memory");
    for (int k = 0; k < cells->nkinds; k++) {
        plays[k] = true;
        any_gpu |= cells->has_gpu[k];
    }
    done = deal_first(cells, &deal, err);
    for (int k = 0; k < cells->nkinds && !done; k++)
        plays[k] = cells->has_gpu[k] || !any_gpu;
    for (int r = 0; r < plan->nranks; r++)
        nplaying += plays[cells->kind_of[r]];
    while (done == 0) {
        plan->notes |= NOTE_NO_LEFTOVER;
        done = deal_first(cells, &deal, err);
        if (done == 0) {
            int even = (nplaying + cells->work->node->ncores - 1) / cells->work->node->ncores;

            deal.per_core = deal.per_core * 2 > even ? deal.per_core * 2 : even;
            plan->notes |= NOTE_CORES_SHARED;
        }
    }
    free(plays);
    return done < 0 ? -1 : deal.per_core;
}

/* The cell that the rank grows into next, or -1. */
static int next_cell(const struct cells *cells, const int *left, int r)
{
    int kind = cells->kind_of[r], best = -1;
    const int *count = &cells->count[r * cells->ncells];

    for (int cell = 0; cell < cells->ncells; cell++) {
        int look = cells_look(cells, cell, kind), best_look;

        if (!left[cell] || look > cells->limit[kind])
            continue;
        best_look = best < 0 ? CELL_FORBIDDEN : cells_look(cells, best, kind);
        if (look < best_look || (look == best_look && count[cell] && !count[best]))
            best = cell;
    }
    return best;
}

/* One core a turn, until no rank of this sort finds another. */
static void grow(struct cells *cells, int *left, bool with_gpu)
{
    bool grown = true;

    while (grown) {
        grown = false;
        for (int r = 0; r < cells->work->plan->nranks; r++) {
            int cell = cells->has_gpu[cells->kind_of[r]] == with_gpu ? next_cell(cells, left, r)
                                                                     : -1;

            if (cell >= 0) {
                cells->count[r * cells->ncells + cell]++;
                left[cell]--;
                grown = true;
            }
        }
    }
}

static int grow_all(struct cells *cells, struct gpubind_error *err)
{
    int *left = malloc((size_t)cells->ncells * sizeof *left);

    if (!left)
        return error_set(err, "out of memory");
    memcpy(left, cells->size, (size_t)cells->ncells * sizeof *left);
    for (int r = 0; r < cells->work->plan->nranks; r++)
        for (int cell = 0; cell < cells->ncells; cell++)
            left[cell] -= cells->count[r * cells->ncells + cell];
    grow(cells, left, true);
    grow(cells, left, false);
    free(left);
    return 0;
}

/* Ranks with GPUs stand before the others, so that a master's core does not
 * shift everybody's. members is scratch for the cell's cores. */
static void carve_cell(const struct cells *cells, int cell, bool shared, int *members, bool *owns)
{
    const struct plan *plan = cells->work->plan;
    int ncores = cells->work->node->ncores, nsharing = 0, taken = 0, nth = 0;

    for (int c = 0, n = 0; c < ncores; c++)
        if (cells->cell_of[c] == cell)
            members[n++] = c;
    for (int r = 0; r < plan->nranks; r++)
        nsharing += cells->count[r * cells->ncells + cell] > 0;
    for (int turn = 0; turn < 2; turn++)
        for (int r = 0; r < plan->nranks; r++) {
            int count = cells->count[r * cells->ncells + cell];

            if (!count || (plan->ranks[r].ngpus > 0) != (turn == 0))
                continue;
            if (shared && nsharing > cells->size[cell])
                taken = nth * cells->size[cell] / nsharing;
            for (int i = 0; i < count; i++)
                owns[r * ncores + members[taken++]] = true;
            nth++;
        }
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
    int used = 0, smt = work->policy->smt ? work->policy->smt : NODE_MAX_SMT;
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
    int per_core = deal_cores(cells, err);

    if (per_core < 0 || (per_core == 1 && grow_all(cells, err) < 0))
        return -1;
    for (int cell = 0; cell < cells->ncells; cell++)
        carve_cell(cells, cell, per_core > 1, members, owns);
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
