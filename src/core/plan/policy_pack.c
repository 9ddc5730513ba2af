/* Policy pack: as few packages, then NUMA nodes, as will do. */
#include <string.h>

#include "core/plan/plan_internal.h"

enum { NEW_PACKAGE, PACKAGE_TOO_SMALL, NEW_NUMA, NUMA_TOO_SMALL, DISTANCE, SCORES };

static const struct gpu *first_gpu(const struct plan_work *work, int set)
{
    return &work->node->gpus[work->sets[set * work->policy->gpus_per_rank]];
}

static bool together(const struct plan_work *work, int a, int b, bool same_numa)
{
    const struct gpu *x = first_gpu(work, a), *y = first_gpu(work, b);

    return x->package == y->package && (!same_numa || x->numa_domain == y->numa_domain);
}

static long distance_sum(const struct plan_work *work, int set)
{
    int g = work->sets[set * work->policy->gpus_per_rank];
    long sum = 0;

    for (int k = 0; k < work->nclasses; k++)
        sum += work->distance[k * work->node->ngpus + g];
    return sum;
}

/* The cost of taking this set next, in lexicographic order. */
static void score_set(const struct plan_work *work, const bool *taken, int needed, int set,
                      long score[SCORES])
{
    int free_package = 0, free_numa = 0;

    score[NEW_PACKAGE] = score[NEW_NUMA] = 1;
    for (int s = 0; s < work->nsets; s++) {
        if (together(work, s, set, false)) {
            score[NEW_PACKAGE] &= !taken[s];
            free_package += !taken[s];
        }
        if (together(work, s, set, true)) {
            score[NEW_NUMA] &= !taken[s];
            free_numa += !taken[s];
        }
    }
    score[PACKAGE_TOO_SMALL] = free_package < needed ? needed - free_package : 0;
    score[NUMA_TOO_SMALL] = free_numa < needed ? needed - free_numa : 0;
    score[DISTANCE] = distance_sum(work, set);
}

static bool better(const long a[SCORES], const long b[SCORES])
{
    for (int i = 0; i < SCORES; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

static int next_set(const struct plan_work *work, const bool *taken, int needed)
{
    long best_score[SCORES] = {0};
    int best = -1;

    for (int s = 0; s < work->nsets; s++) {
        long score[SCORES];

        if (taken[s])
            continue;
        score_set(work, taken, needed, s, score);
        if (best < 0 || better(score, best_score)) {
            best = s;
            memcpy(best_score, score, sizeof score);
        }
    }
    return best;
}

void plan_pack(struct plan_work *work, int nworkers)
{
    const int size = work->policy->gpus_per_rank, limit = work->policy->ranks_per_gpu;
    int kept = 0, needed = limit ? (nworkers + limit - 1) / limit : nworkers;
    bool taken[NODE_MAX_GPUS] = {false};

    if (needed >= work->nsets)
        return;
    for (; needed > 0; needed--)
        taken[next_set(work, taken, needed)] = true;
    for (int s = 0; s < work->nsets; s++)
        if (taken[s])
            memmove(&work->sets[kept++ * size], &work->sets[s * size],
                    (size_t)size * sizeof *work->sets);
    work->nsets = kept;
}
