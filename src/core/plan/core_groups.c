/* Groups cores and ranks by what the assignment of cores can tell apart. */
#include "core/plan/core_groups.h"

#include <stdlib.h>
#include <string.h>

static bool same_kind(const struct plan_work *work, int a, int b)
{
    const struct plan_rank *x = &work->plan->ranks[a], *y = &work->plan->ranks[b];

    return work->class_of[a] == work->class_of[b] && x->ngpus == y->ngpus &&
           memcmp(x->gpus, y->gpus, (size_t)x->ngpus * sizeof *x->gpus) == 0;
}

/* first: a rank of each kind. */
static void find_kinds(struct core_groups *groups, int *first)
{
    for (int r = 0; r < groups->work->plan->nranks; r++) {
        int k = 0;

        while (k < groups->nkinds && !same_kind(groups->work, first[k], r))
            k++;
        if (k == groups->nkinds) {
            groups->has_gpu[k] = groups->work->plan->ranks[r].ngpus > 0;
            first[groups->nkinds++] = r;
        }
        groups->kind_of[r] = k;
    }
}

/* GPUs that are not on the map, and those that other jobs have, are not this job's. */
static void find_withheld(struct core_groups *groups)
{
    const struct plan_work *work = groups->work;
    const struct node *node = work->node;

    for (int c = 0; c < node->ncores; c++)
        groups->withheld[c] = node->cores[c].withheld;
    for (int g = 0; g < node->ngpus; g++) {
        bool listed = !work->policy->nmap;

        for (int i = 0; i < work->policy->nmap; i++)
            listed |= work->policy->map[i] == g;
        for (int c = 0; c < node->ncores && (!listed || work->job->busy[g]); c++)
            groups->withheld[c] |= node_distance(node, g, c) <= 1;
    }
}

static unsigned char core_look(const struct core_groups *groups, int r, int core)
{
    const struct plan_work *work = groups->work;
    const struct plan_rank *rank = &work->plan->ranks[r];
    int nearest = 3;

    if (!work->usable[work->class_of[r] * work->node->ncores + core])
        return GROUP_FORBIDDEN;
    if (!rank->ngpus)
        return groups->withheld[core] ? GROUP_WITHHELD : 0;
    for (int i = 0; i < rank->ngpus && nearest > 0; i++) {
        int distance = node_distance(work->node, rank->gpus[i], core);

        if (distance < nearest)
            nearest = distance;
    }
    return nearest > 1 && groups->withheld[core] ? GROUP_WITHHELD : (unsigned char)nearest;
}

static void find_cells(struct core_groups *groups, const int *first)
{
    size_t row = (size_t)groups->nkinds;

    for (int c = 0; c < groups->work->node->ncores; c++) {
        /* The row behind the last group is the candidate for the next one. */
        unsigned char *distance = &groups->distance[(size_t)groups->ngroups * row];
        int group = 0;

        for (int k = 0; k < groups->nkinds; k++)
            distance[k] = core_look(groups, first[k], c);
        while (memcmp(&groups->distance[(size_t)group * row], distance, row) != 0)
            group++;
        groups->ngroups += group == groups->ngroups;
        groups->group_of[c] = group;
        groups->size[group]++;
    }
}

/* A rank first reaches the cores of its GPU's NUMA node; when it may use none of them,
 * the nearest that it may use. */
static void find_limits(struct core_groups *groups)
{
    for (int k = 0; k < groups->nkinds; k++) {
        int nearest = GROUP_WITHHELD;

        for (int group = 0; group < groups->ngroups; group++)
            if (core_groups_distance(groups, group, k) < nearest)
                nearest = core_groups_distance(groups, group, k);
        groups->limit[k] = nearest > 1 ? nearest : 1;
    }
}

int core_groups_make(struct plan_work *work, struct core_groups *groups, struct gpubind_error *err)
{
    size_t nranks = (size_t)work->plan->nranks, ncores = (size_t)work->node->ncores;
    int *first = malloc(nranks * sizeof *first);

    memset(groups, 0, sizeof *groups);
    groups->work = work;
    groups->kind_of = malloc(nranks * sizeof *groups->kind_of);
    groups->has_gpu = malloc(nranks * sizeof *groups->has_gpu);
    groups->limit = malloc(nranks * sizeof *groups->limit);
    groups->withheld = malloc(ncores * sizeof *groups->withheld);
    groups->group_of = malloc(ncores * sizeof *groups->group_of);
    groups->size = calloc(ncores, sizeof *groups->size);
    if (first && groups->kind_of && groups->has_gpu && groups->limit && groups->withheld &&
        groups->group_of && groups->size) {
        find_kinds(groups, first);
        groups->distance = malloc((ncores + 1) * (size_t)groups->nkinds);
    }
    if (groups->distance) {
        find_withheld(groups);
        find_cells(groups, first);
        find_limits(groups);
        groups->count = calloc(nranks * (size_t)groups->ngroups, sizeof *groups->count);
        groups->taken = calloc((size_t)groups->ngroups, sizeof *groups->taken);
        groups->total = calloc(nranks, sizeof *groups->total);
    }
    free(first);
    return groups->count && groups->taken && groups->total ? 0 : error_set(err, "out of memory");
}

void core_groups_clear(struct core_groups *groups)
{
    free(groups->kind_of);
    free(groups->has_gpu);
    free(groups->limit);
    free(groups->withheld);
    free(groups->group_of);
    free(groups->size);
    free(groups->distance);
    free(groups->count);
    free(groups->taken);
    free(groups->total);
    memset(groups, 0, sizeof *groups);
}
