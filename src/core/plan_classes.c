#include <stdlib.h>
#include <string.h>

#include "core/plan_parts.h"

static int class_of_rank(const struct plan_work *work, const int *first, int r)
{
    for (int k = 0; k < work->nclasses; k++)
        if (idset_equal(&work->job->ranks[first[k]].cpus, &work->job->ranks[r].cpus))
            return k;
    return work->nclasses;
}

static bool core_usable(const struct core *core, const struct idset *cpus)
{
    for (int p = 0; p < core->npus; p++)
        if (idset_has(cpus, core->pu[p]))
            return true;
    return false;
}

/* Cores that the class may use. One whose CPUs are none of the node's is treated
 * as not bound at all, which is what a recorded machine wants. */
static void fill_usable(struct plan_work *work, int k, const struct idset *cpus)
{
    const struct node *node = work->node;
    bool *usable = &work->usable[k * node->ncores];
    bool any = false;

    for (int c = 0; c < node->ncores; c++)
        any |= usable[c] = core_usable(&node->cores[c], cpus);
    for (int c = 0; c < node->ncores && !any; c++)
        usable[c] = true;
}

static void fill_distances(struct plan_work *work, int k)
{
    const struct node *node = work->node;

    for (int g = 0; g < node->ngpus; g++) {
        int nearest = 3;

        for (int c = 0; c < node->ncores && nearest > 0; c++)
            if (work->usable[k * node->ncores + c] && node_distance(node, g, c) < nearest)
                nearest = node_distance(node, g, c);
        work->distance[k * node->ngpus + g] = (unsigned char)nearest;
    }
}

int plan_classes(struct plan_work *work, struct gpubind_error *err)
{
    int nranks = work->job->nranks;
    int *first = malloc((size_t)nranks * sizeof *first);

    work->class_of = malloc((size_t)nranks * sizeof *work->class_of);
    if (!first || !work->class_of) {
        free(first);
        return error_set(err, "out of memory");
    }
    for (int r = 0; r < nranks; r++) {
        int k = work->class_of[r] = class_of_rank(work, first, r);

        if (k == work->nclasses)
            first[work->nclasses++] = r;
    }
    work->usable = calloc((size_t)work->nclasses * work->node->ncores, sizeof *work->usable);
    work->distance = calloc((size_t)work->nclasses * work->node->ngpus + 1, 1);
    if (!work->usable || !work->distance) {
        free(first);
        return error_set(err, "out of memory");
    }
    for (int k = 0; k < work->nclasses; k++) {
        fill_usable(work, k, &work->job->ranks[first[k]].cpus);
        fill_distances(work, k);
    }
    free(first);
    return 0;
}
