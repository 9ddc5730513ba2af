/* Cores for every rank. Each has a first one (first_core.c); then the ranks with GPUs
 * grow in turn inside their GPU's NUMA node, then all ranks over what is left, the
 * nearest first; plan_shares.c makes cores of the counts. */
#include <stdlib.h>
#include <string.h>

#include "core/plan/core_groups.h"

/* The cost of a core of the group for the rank. Those without a GPU keep away from
 * the GPUs that others have. */
static int reluctance(const struct core_groups *groups, int group, int kind)
{
    int nearest = 3;

    if (core_groups_distance(groups, group, kind) >= GROUP_WITHHELD || groups->has_gpu[kind])
        return core_groups_distance(groups, group, kind);
    for (int k = 0; k < groups->nkinds; k++)
        if (groups->has_gpu[k] && core_groups_distance(groups, group, k) < nearest)
            nearest = core_groups_distance(groups, group, k);
    return 3 - nearest;
}

/* Whether the rank may grow into the group in that round. Round 1 is for ranks with GPUs, up
 * to their limits; in round 2 the others grow where they are; in round 3 all do anywhere.
 * To pack is to use as few NUMA nodes as will do. */
static bool is_open(const struct core_groups *groups, int r, int group, int round)
{
    int kind = groups->kind_of[r], distance = core_groups_distance(groups, group, kind);
    bool has_gpu = groups->has_gpu[kind];

    if (distance == GROUP_FORBIDDEN || !core_groups_free(groups, group) || (round == 1 && !has_gpu))
        return false;
    if (round == 2 && !has_gpu && !groups->count[r * groups->ngroups + group])
        return false;
    if (distance <= groups->limit[kind])
        return true;
    return distance <= round && groups->work->policy->gpus != POLICY_PACK;
}

/* The group that the rank grows into next, or -1. */
static int next_group(const struct core_groups *groups, int r, int round)
{
    int kind = groups->kind_of[r], best = -1, best_value = GROUP_FORBIDDEN;
    const int *count = &groups->count[r * groups->ngroups];

    for (int group = 0; group < groups->ngroups; group++) {
        int value;

        if (!is_open(groups, r, group, round))
            continue;
        value = reluctance(groups, group, kind);
        if (value < best_value || (value == best_value && count[group] && !count[best])) {
            best = group;
            best_value = value;
        }
    }
    return best;
}

static int count_free(const struct core_groups *groups)
{
    int left = 0;

    for (int group = 0; group < groups->ngroups; group++)
        left += core_groups_free(groups, group);
    return left;
}

/* A round of growth, one core a turn, those with the fewest first, until no rank finds
 * another. */
static void grow(struct core_groups *groups, int round)
{
    int left = count_free(groups);

    for (int turn = 0; left && turn <= groups->work->node->ncores; turn++)
        for (int r = 0; r < groups->work->plan->nranks; r++) {
            int group = -1;

            if (groups->total[r] <= turn)
                group = next_group(groups, r, round);
            if (group >= 0) {
                core_groups_give(groups, r, group);
                left--;
            }
        }
}

static bool same_object(const struct core *a, const struct core *b, enum bind_level level)
{
    switch (level) {
    case BIND_L3:
        return a->l3 >= 0 ? a->l3 == b->l3 : a->numa_domain == b->numa_domain;
    case BIND_NUMA:
        return a->numa_domain == b->numa_domain;
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
static int find_first(const struct core_groups *groups, int r, const bool *owns)
{
    int ncores = groups->work->node->ncores, first = ncores, nearest = GROUP_FORBIDDEN;

    for (int c = 0; c < ncores; c++) {
        int distance = core_groups_distance(groups, groups->group_of[c], groups->kind_of[r]);

        if (owns[c] && distance < nearest) {
            first = c;
            nearest = distance;
        }
    }
    return first;
}

/* From the share that the rank owns to what it is bound to. */
static void bind_rank(const struct core_groups *groups, int r, const bool *owns)
{
    const struct plan_work *work = groups->work;
    const struct node *node = work->node;
    const bool *usable = &work->usable[work->class_of[r] * node->ncores];
    enum bind_level level = work->policy->bind;
    int first = find_first(groups, r, owns);

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

static int share_cores(struct core_groups *groups, bool *owns, struct gpubind_error *err)
{
    if (core_groups_assign_first(groups, err) < 0)
        return -1;
    for (int round = 1; round <= 3; round++)
        grow(groups, round);
    return core_groups_share(groups, owns, err);
}

int plan_cpus(struct plan_work *work, struct gpubind_error *err)
{
    struct core_groups groups;
    size_t ncores = (size_t)work->node->ncores;
    bool *owns = calloc((size_t)work->plan->nranks * ncores, sizeof *owns);
    int status = core_groups_make(work, &groups, err);

    if (status == 0)
        status = owns ? share_cores(&groups, owns, err) : error_set(err, "out of memory");
    for (int r = 0; status == 0 && r < work->plan->nranks; r++)
        bind_rank(&groups, r, &owns[(size_t)r * ncores]);
    core_groups_clear(&groups);
    free(owns);
    return status;
}
