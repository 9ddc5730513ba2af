/* The first core of every rank, as a flow: the nearest that leaves enough for the
 * others. Where there are fewer cores than ranks, the ranks with GPUs come first,
 * and as few as possible share. */
#include <stdlib.h>

#include "core/base/min_cost_flow.h"
#include "core/plan/core_groups.h"

/* The parameters of one round of assigning first cores. */
struct round {
    bool *takes_part; /* of each kind */
    int per_core;     /* ranks that may have the same core */
};

/* Ranks without a GPU avoid cores that are near a GPU of another rank. */
static long first_core_cost(const struct core_groups *groups, int kind, int group)
{
    if (groups->has_gpu[kind] || core_groups_distance(groups, group, kind) == GROUP_WITHHELD)
        return core_groups_distance(groups, group, kind);
    for (int k = 0; k < groups->nkinds; k++)
        if (groups->has_gpu[k] && core_groups_distance(groups, group, k) <= groups->limit[k])
            return 1;
    return 0;
}

/* Nodes of the graph, in this order: source, sink, kinds, groups. Sharing costs more
 * than any distance, and sharing by three more than by two. Returns the number of
 * ranks that take part. */
static int add_arcs(const struct core_groups *groups, const struct round *round, struct flow *flow)
{
    int group0 = 2 + groups->nkinds, wanted = 0;

    for (int k = 0; k < groups->nkinds; k++) {
        int supply = 0;

        for (int r = 0; r < groups->work->plan->nranks; r++)
            supply += round->takes_part[k] && groups->kind_of[r] == k;
        wanted += supply;
        flow_add(flow, 0, 2 + k, supply, 0);
        for (int group = 0; group < groups->ngroups; group++) {
            const long cost[FLOW_PARTS] = {0, first_core_cost(groups, k, group)};

            if (core_groups_distance(groups, group, k) != GROUP_FORBIDDEN)
                flow_add(flow, 2 + k, group0 + group, supply, flow_cost_of(cost));
        }
    }
    for (int group = 0; group < groups->ngroups; group++)
        for (int sharing = 0; sharing < round->per_core; sharing++) {
            const long cost[FLOW_PARTS] = {sharing};

            flow_add(flow, group0 + group, 1, core_groups_free(groups, group), flow_cost_of(cost));
        }
    return wanted;
}

/* Distributes what a kind got to its ranks, in order of rank. The arcs of a
 * kind follow each other. */
static void read_flow(struct core_groups *groups, const struct flow *flow)
{
    int group0 = 2 + groups->nkinds, kind = -1, r = 0;

    for (int a = 0; a < flow->narcs; a++) {
        const struct flow_arc *arc = &flow->arcs[a];

        if (arc->from < 2 || arc->from >= group0)
            continue;
        if (arc->from - 2 != kind) {
            kind = arc->from - 2;
            r = 0;
        }
        for (int left = arc->flow; left; r++)
            if (groups->kind_of[r] == kind) {
                core_groups_give(groups, r, arc->to - group0);
                left--;
            }
    }
}

/* 1 when every rank of the round got a core, 0 when not, -1 on failure. */
static int assign_first(struct core_groups *groups, const struct round *round,
                        struct gpubind_error *err)
{
    struct flow flow;
    int done;

    if (flow_make(&flow, 2 + groups->nkinds + groups->ngroups,
                  groups->nkinds * (groups->ngroups + 1) + groups->ngroups * round->per_core,
                  err) < 0)
        return -1;
    done = add_arcs(groups, round, &flow) == flow_solve(&flow, 0, 1);
    if (done)
        read_flow(groups, &flow);
    flow_clear(&flow);
    return done;
}

/* As assign_first, with several ranks a core if need be. 0 when even that is not
 * enough: the ranks may use none of the cores that are left. */
static int assign_shared(struct core_groups *groups, struct round *round, struct gpubind_error *err)
{
    int nranks = groups->work->plan->nranks, left = 0, participants = 0, done = 0;

    for (int group = 0; group < groups->ngroups; group++)
        left += core_groups_free(groups, group);
    for (int r = 0; r < nranks; r++)
        participants += round->takes_part[groups->kind_of[r]];
    if (!left)
        return 0;
    round->per_core = (participants + left - 1) / left;
    while (done == 0 && round->per_core < 2 * nranks) {
        done = assign_first(groups, round, err);
        round->per_core *= done ? 1 : 2;
    }
    return done;
}

/* First cores for all ranks; if there are too few, for ranks with GPUs, then for the others. */
static int assign_in_turn(struct core_groups *groups, struct round *round,
                          struct gpubind_error *err)
{
    struct plan *plan = groups->work->plan;
    bool any_gpu = false;
    int done = assign_first(groups, round, err);

    if (done)
        return done;
    for (int k = 0; k < groups->nkinds; k++)
        any_gpu |= groups->has_gpu[k];
    for (int k = 0; k < groups->nkinds; k++)
        round->takes_part[k] = groups->has_gpu[k] || !any_gpu;
    done = assign_shared(groups, round, err);
    if (done < 0)
        return -1;
    if (round->per_core > 1)
        plan->notes |= NOTE_CORES_SHARED;
    for (int k = 0; k < groups->nkinds; k++)
        round->takes_part[k] = !round->takes_part[k];
    done = assign_shared(groups, round, err);
    if (done == 0)
        plan->notes |= NOTE_NO_LEFTOVER;
    return done;
}

/* The group that is as good as the one that the rank without GPU has its first core of, and
 * has the most free cores. */
static int roomiest_group(const struct core_groups *groups, int kind, int from)
{
    int best = from;

    for (int group = 0; group < groups->ngroups; group++)
        if (core_groups_distance(groups, group, kind) != GROUP_FORBIDDEN &&
            first_core_cost(groups, kind, group) <= first_core_cost(groups, kind, from) &&
            core_groups_free(groups, group) > core_groups_free(groups, best) + (best == from))
            best = group;
    return best;
}

/* To the flow such groups are equal; ranks that are to grow in them had better not all be
 * in one. */
static void spread_others(struct core_groups *groups)
{
    for (int r = 0; r < groups->work->plan->nranks; r++) {
        int *count = &groups->count[r * groups->ngroups], kind = groups->kind_of[r];

        for (int from = 0; from < groups->ngroups && !groups->has_gpu[kind]; from++)
            if (count[from]) {
                int to = roomiest_group(groups, kind, from);

                core_groups_take(groups, r, from);
                core_groups_give(groups, r, to);
                break;
            }
    }
}

int core_groups_assign_first(struct core_groups *groups, struct gpubind_error *err)
{
    struct round round = {.per_core = 1};
    int status;

    round.takes_part = malloc((size_t)groups->nkinds * sizeof *round.takes_part);
    if (!round.takes_part)
        return error_set(err, "out of memory");
    for (int k = 0; k < groups->nkinds; k++)
        round.takes_part[k] = true;
    status = assign_in_turn(groups, &round, err);
    free(round.takes_part);
    if (status >= 0)
        spread_others(groups);
    return status;
}
