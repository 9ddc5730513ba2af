/* The first core of every rank, as a flow: the nearest that leaves enough for the
 * others. Where there are fewer cores than ranks, the ranks with GPUs come first,
 * and as few as possible share. */
#include <stdlib.h>

#include "core/base/min_cost_flow.h"
#include "core/plan/core_groups.h"

/* The parameters of one round of assigning first cores. */
struct deal {
    bool *plays;  /* of each kind */
    int per_core; /* ranks that may have the same core */
};

/* Ranks without a GPU avoid cores that are near a GPU of another rank. */
static long first_core_cost(const struct cells *cells, int kind, int cell)
{
    if (cells->has_gpu[kind] || cells_look(cells, cell, kind) == CELL_WITHHELD)
        return cells_look(cells, cell, kind);
    for (int k = 0; k < cells->nkinds; k++)
        if (cells->has_gpu[k] && cells_look(cells, cell, k) <= cells->limit[k])
            return 1;
    return 0;
}

/* Nodes of the graph, in this order: source, sink, kinds, cells. Sharing costs more
 * than any distance, and sharing by three more than by two. Returns the number of
 * ranks that play. */
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
            const long cost[FLOW_PARTS] = {0, first_core_cost(cells, k, cell)};

            if (cells_look(cells, cell, k) != CELL_FORBIDDEN)
                flow_add(flow, 2 + k, cell0 + cell, supply, flow_cost_of(cost));
        }
    }
    for (int cell = 0; cell < cells->ncells; cell++)
        for (int sharing = 0; sharing < deal->per_core; sharing++) {
            const long cost[FLOW_PARTS] = {sharing};

            flow_add(flow, cell0 + cell, 1, cells_free(cells, cell), flow_cost_of(cost));
        }
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
                cells_give(cells, r, arc->to - cell0);
                left--;
            }
    }
}

/* 1 when every rank of the round got a core, 0 when not, -1 on failure. */
static int deal_first(struct cells *cells, const struct deal *deal, struct gpubind_error *err)
{
    struct flow flow;
    int done;

    if (flow_make(&flow, 2 + cells->nkinds + cells->ncells,
                  cells->nkinds * (cells->ncells + 1) + cells->ncells * deal->per_core,
                  err) < 0)
        return -1;
    done = add_arcs(cells, deal, &flow) == flow_solve(&flow, 0, 1);
    if (done)
        read_flow(cells, &flow);
    flow_clear(&flow);
    return done;
}

/* As deal_first, with several ranks a core if need be. 0 when even that is not
 * enough: the ranks may use none of the cores that are left. */
static int deal_shared(struct cells *cells, struct deal *deal, struct gpubind_error *err)
{
    int nranks = cells->work->plan->nranks, left = 0, playing = 0, done = 0;

    for (int cell = 0; cell < cells->ncells; cell++)
        left += cells_free(cells, cell);
    for (int r = 0; r < nranks; r++)
        playing += deal->plays[cells->kind_of[r]];
    if (!left)
        return 0;
    deal->per_core = (playing + left - 1) / left;
    while (done == 0 && deal->per_core < 2 * nranks) {
        done = deal_first(cells, deal, err);
        deal->per_core *= done ? 1 : 2;
    }
    return done;
}

/* First cores for all; else for those who need them most, then for the others. */
static int deal_in_turn(struct cells *cells, struct deal *deal, struct gpubind_error *err)
{
    struct plan *plan = cells->work->plan;
    bool any_gpu = false;
    int done = deal_first(cells, deal, err);

    if (done)
        return done;
    for (int k = 0; k < cells->nkinds; k++)
        any_gpu |= cells->has_gpu[k];
    for (int k = 0; k < cells->nkinds; k++)
        deal->plays[k] = cells->has_gpu[k] || !any_gpu;
    done = deal_shared(cells, deal, err);
    if (done < 0)
        return -1;
    if (deal->per_core > 1)
        plan->notes |= NOTE_CORES_SHARED;
    for (int k = 0; k < cells->nkinds; k++)
        deal->plays[k] = !deal->plays[k];
    done = deal_shared(cells, deal, err);
    if (done == 0)
        plan->notes |= NOTE_NO_LEFTOVER;
    return done;
}

/* The cell that is as good as the one that the rank without GPU has its first core of, and
 * has the most free cores. */
static int roomiest_cell(const struct cells *cells, int kind, int from)
{
    int best = from;

    for (int cell = 0; cell < cells->ncells; cell++)
        if (cells_look(cells, cell, kind) != CELL_FORBIDDEN &&
            first_core_cost(cells, kind, cell) <= first_core_cost(cells, kind, from) &&
            cells_free(cells, cell) > cells_free(cells, best) + (best == from))
            best = cell;
    return best;
}

/* To the flow such cells are equal; ranks that are to grow in them had better not all be
 * in one. */
static void spread_others(struct cells *cells)
{
    for (int r = 0; r < cells->work->plan->nranks; r++) {
        int *count = &cells->count[r * cells->ncells], kind = cells->kind_of[r];

        for (int from = 0; from < cells->ncells && !cells->has_gpu[kind]; from++)
            if (count[from]) {
                int to = roomiest_cell(cells, kind, from);

                cells_take(cells, r, from);
                cells_give(cells, r, to);
                break;
            }
    }
}

int cells_deal(struct cells *cells, struct gpubind_error *err)
{
    struct deal deal = {.per_core = 1};
    int status;

    deal.plays = malloc((size_t)cells->nkinds * sizeof *deal.plays);
    if (!deal.plays)
        return error_set(err, "out of memory");
    for (int k = 0; k < cells->nkinds; k++)
        deal.plays[k] = true;
    status = deal_in_turn(cells, &deal, err);
    free(deal.plays);
    if (status >= 0)
        spread_others(cells);
    return status;
}
