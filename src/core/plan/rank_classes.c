/* Groups ranks with equal CPU sets, and computes their distances to GPUs. */
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_internal.h"

static int class_of_rank(const struct plan_work *work, const int *first, int r)
{
    for (int k = 0; k < work->nclasses; k++)
        if (idset_equal(&work->job->ranks[first[k]].cpus, &work->job->ranks[r].cpus))
            return k;
    return work->nclasses;
}

#define NO_CORE (-1)

/* The core of each PU, or NO_CORE. */
static void map_pus(const struct node *node, short core_of[IDSET_MAX])
{
    for (int pu = 0; pu < IDSET_MAX; pu++)
        core_of[pu] = NO_CORE;
    for (int c = 0; c < node->ncores; c++)
        for (int p = 0; p < node->cores[c].npus; p++)
            core_of[node->cores[c].pu[p]] = (short)c;
}

static void come_nearer(const struct plan_work *work, int k, int core)
{
    for (int g = 0; g < work->node->ngpus; g++) {
        unsigned char *nearest = &work->distance[k * work->node->ngpus + g];
        int distance = node_distance(work->node, g, core);

        if (distance < *nearest)
            *nearest = (unsigned char)distance;
    }
}

/* The cores that the class may use and its distances. A class whose CPUs are none
 * of the node's is treated as not bound at all, which is what a recorded machine
 * wants. */
static void fill_class(struct plan_work *work, int k, const struct idset *cpus,
                       const short core_of[IDSET_MAX])
{
    const struct node *node = work->node;
    bool *usable = &work->usable[k * node->ncores];
    bool any = false;

    memset(&work->distance[k * node->ngpus], 3, (size_t)node->ngpus);
    for (int pu = idset_next(cpus, -1); pu >= 0; pu = idset_next(cpus, pu))
        if (core_of[pu] != NO_CORE)
            any = usable[core_of[pu]] = true;
    for (int c = 0; c < node->ncores; c++) {
        usable[c] |= !any;
        if (usable[c])
            come_nearer(work, k, c);
    }
}

int plan_classes(struct plan_work *work, struct gpubind_error *err)
{
    short core_of[IDSET_MAX];
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
    map_pus(work->node, core_of);
    for (int k = 0; k < work->nclasses; k++)
        fill_class(work, k, &work->job->ranks[first[k]].cpus, core_of);
    free(first);
    return 0;
}
