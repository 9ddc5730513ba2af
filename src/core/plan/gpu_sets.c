/* Groups GPUs into sets of gpus_per_rank that are close to each other. */
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_internal.h"

int plan_pair_class(const struct node *node, int a, int b)
{
    unsigned hops = node->gpu_hops[a * node->ngpus + b];

    if (node->link[a * node->ngpus + b])
        return 0;
    return hops < 64 ? 1 : (int)hops - 62;
}

static long one_way(const struct node *node, unsigned best_link, int a, int b)
{
    return (long)(best_link - node->link[a * node->ngpus + b]) * 128 +
           (long)node->gpu_hops[a * node->ngpus + b];
}

/* Fast links first, then the way over PCI and through the CPUs. */
static long pair_distance(const struct node *node, unsigned best_link, int a, int b)
{
    return one_way(node, best_link, a, b) + one_way(node, best_link, b, a);
}

struct grouping {
    const struct node *node;
    const int *busy; /* GPUs that fewer ranks of other jobs have come first */
    unsigned best_link;
    int size; /* of a set */
    int nsets;
    int *set_of; /* of each GPU; nsets for those left over */
};

/* Distance of the GPU to the other members of a set. */
static long to_set(const struct grouping *groups, int gpu, int set)
{
    long sum = 0;

    if (set == groups->nsets)
        return 0;
    for (int g = 0; g < groups->node->ngpus; g++)
        if (g != gpu && groups->set_of[g] == set)
            sum += pair_distance(groups->node, groups->best_link, gpu, g);
    return sum;
}

/* What makes one set worse than another: its busiest GPU, then its distances. */
struct looseness {
    int busy;
    long distance;
};

static bool is_tighter(struct looseness a, struct looseness b)
{
    return a.busy != b.busy ? a.busy < b.busy : a.distance < b.distance;
}

/* Grows a set from a seed by the least busy GPUs, and of those the nearest. */
static struct looseness grow_set(struct grouping *groups, int set, int seed)
{
    int ngpus = groups->node->ngpus;
    long near[NODE_MAX_GPUS] = {0};
    struct looseness sum = {0};

    for (int member = 0, next = seed; member < groups->size; member++) {
        sum.distance += near[next];
        if (groups->busy[next] > sum.busy)
            sum.busy = groups->busy[next];
        groups->set_of[next] = set;
        for (int g = 0; g < ngpus; g++)
            near[g] += g == next ? 0 : pair_distance(groups->node, groups->best_link, g, next);
        next = -1;
        for (int g = 0; g < ngpus; g++)
            if (groups->set_of[g] == groups->nsets &&
                (next < 0 || is_tighter((struct looseness){groups->busy[g], near[g]},
                                        (struct looseness){groups->busy[next], near[next]})))
                next = g;
    }
    return sum;
}

static void dissolve(struct grouping *groups, int set)
{
    for (int g = 0; g < groups->node->ngpus; g++)
        if (groups->set_of[g] == set)
            groups->set_of[g] = groups->nsets;
}

/* Repeatedly takes the set with the least distances of the remaining GPUs; the first of equals. */
static void group_greedily(struct grouping *groups)
{
    for (int set = 0; set < groups->nsets; set++) {
        int best = -1;
        struct looseness best_sum = {0};

        for (int seed = 0; seed < groups->node->ngpus; seed++) {
            struct looseness sum;

            if (groups->set_of[seed] != groups->nsets)
                continue;
            sum = grow_set(groups, set, seed);
            dissolve(groups, set);
            if (best < 0 || is_tighter(sum, best_sum)) {
                best = seed;
                best_sum = sum;
            }
        }
        grow_set(groups, set, best);
    }
}

/* How the distances change when a and b are exchanged. */
static long swap_gain(struct grouping *groups, int a, int b)
{
    int set_a = groups->set_of[a], set_b = groups->set_of[b];
    long before = to_set(groups, a, set_a) + to_set(groups, b, set_b);
    long after;

    groups->set_of[a] = set_b;
    groups->set_of[b] = set_a;
    after = to_set(groups, a, set_b) + to_set(groups, b, set_a);
    groups->set_of[a] = set_a;
    groups->set_of[b] = set_b;
    return before - after;
}

/* Exchanges pairs, of equally busy GPUs, as long as that brings sets closer together.
 * Every exchange lowers the sum of all distances, so this ends. */
static void improve(struct grouping *groups)
{
    bool improved = true;

    while (improved) {
        improved = false;
        for (int a = 0; a < groups->node->ngpus; a++)
            for (int b = a + 1; b < groups->node->ngpus; b++) {
                int set_a = groups->set_of[a];

                if (set_a == groups->set_of[b] || groups->busy[a] != groups->busy[b] ||
                    swap_gain(groups, a, b) <= 0)
                    continue;
                groups->set_of[a] = groups->set_of[b];
                groups->set_of[b] = set_a;
                improved = true;
            }
    }
}

/* Sets in order of their first GPUs. */
static void list_sets(const struct grouping *groups, short *sets)
{
    int listed = 0;

    for (int first = 0; first < groups->node->ngpus; first++) {
        int set = groups->set_of[first], before = 0;

        for (int g = 0; g < first; g++)
            before += groups->set_of[g] == set;
        if (set == groups->nsets || before)
            continue;
        for (int g = first; g < groups->node->ngpus; g++)
            if (groups->set_of[g] == set)
                sets[listed++] = (short)g;
    }
}

static void sets_from_map(struct plan_work *work)
{
    const struct policy *policy = work->policy;

    work->nsets = policy->nmap / policy->gpus_per_rank;
    for (int i = 0; i < work->nsets * policy->gpus_per_rank; i++)
        work->sets[i] = (short)policy->map[i];
}

int plan_sets(struct plan_work *work, struct gpubind_error *err)
{
    const struct node *node = work->node;
    int set_of[NODE_MAX_GPUS];
    struct grouping groups = {.node = node,
                              .busy = work->job->busy,
                              .size = work->policy->gpus_per_rank,
                              .set_of = set_of};

    work->sets = calloc((size_t)node->ngpus + 1, sizeof *work->sets);
    if (!work->sets)
        return error_set(err, "out of memory");
    if (work->policy->nmap) {
        sets_from_map(work);
        return 0;
    }
    groups.nsets = work->nsets = node->ngpus / groups.size;
    for (int i = 0; i < node->ngpus * node->ngpus; i++)
        if (node->link[i] > groups.best_link)
            groups.best_link = node->link[i];
    for (int g = 0; g < node->ngpus; g++)
        set_of[g] = groups.size > 1 ? groups.nsets : g;
    if (groups.size > 1) {
        group_greedily(&groups);
        improve(&groups);
    }
    list_sets(&groups, work->sets);
    return 0;
}

int plan_set_busy(const struct plan_work *work, int set)
{
    const short *gpus = &work->sets[set * work->policy->gpus_per_rank];
    int busy = 0;

    for (int i = 0; i < work->policy->gpus_per_rank; i++)
        if (work->job->busy[gpus[i]] > busy)
            busy = work->job->busy[gpus[i]];
    return busy;
}

bool plan_is_busy(const struct plan_work *work)
{
    for (int s = 0; s < work->nsets; s++)
        if (plan_set_busy(work, s))
            return true;
    return false;
}
