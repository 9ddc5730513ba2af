/* The cost of an assignment of GPUs. */
#include <string.h>

#include "core/plan/plan_internal.h"

static long square_sum(const struct node *node, const int *load, bool packages)
{
    long sum = 0;

    for (int g = 0; g < node->ngpus; g++) {
        long here = 0;
        bool first = true;

        for (int h = 0; h < node->ngpus; h++) {
            bool same = node->gpus[g].package == node->gpus[h].package &&
                        (packages || node->gpus[g].numa_domain == node->gpus[h].numa_domain);

            here += same ? load[h] : 0;
            first &= !(same && h < g);
        }
        sum += first ? here * here : 0;
    }
    return sum;
}

void plan_cost(const struct plan_work *work, struct plan_cost *cost)
{
    const struct node *node = work->node;
    int load[NODE_MAX_GPUS] = {0};

    memset(cost, 0, sizeof *cost);
    for (int r = 0; r < work->plan->nranks; r++) {
        struct plan_rank *rank = &work->plan->ranks[r];
        const unsigned char *row = &work->distance[work->class_of[r] * node->ngpus];

        for (int i = 0; i < rank->ngpus; i++) {
            int distance = row[rank->gpus[i]];

            if (distance > rank->distance)
                rank->distance = distance;
            cost->hops += distance;
            for (int j = i + 1; j < rank->ngpus; j++)
                cost->hops += plan_pair_class(node, rank->gpus[i], rank->gpus[j]);
        }
        if (rank->ngpus)
            load[rank->gpus[0]]++;
        cost->remote += rank->distance > 1;
    }
    cost->package_imbalance = square_sum(node, load, true);
    cost->numa_imbalance = square_sum(node, load, false);
}
