#include "core/plan/plan_internal.h"

/* Where the rank sits when it has no GPU: near enough to the NIC's cores? */
static unsigned cpu_hops(const struct plan_work *work, const struct plan_rank *rank, int nic)
{
    const struct idset *near = &work->node->nics[nic].cores;

    for (int c = idset_next(near, -1); c >= 0; c = idset_next(near, c))
        if (idset_has(&rank->cpus, work->node->cores[c].pu[0]))
            return 0;
    return 1;
}

static unsigned hops_to(const struct plan_work *work, const struct plan_rank *rank, int nic)
{
    if (rank->ngpus)
        return work->node->nic_hops[rank->gpus[0] * work->node->nnics + nic];
    return cpu_hops(work, rank, nic);
}

/* The closest one; among equally close ones the one that the fewest have. */
void plan_nics(struct plan_work *work)
{
    int users[NODE_MAX_NICS] = {0};

    for (int r = 0; r < work->plan->nranks; r++) {
        struct plan_rank *rank = &work->plan->ranks[r];
        unsigned best_hops = 0;

        rank->nic = -1;
        for (int n = 0; n < work->node->nnics; n++) {
            unsigned hops = hops_to(work, rank, n);

            if (rank->nic < 0 || hops < best_hops ||
                (hops == best_hops && users[n] < users[rank->nic])) {
                rank->nic = n;
                best_hops = hops;
            }
        }
        if (rank->nic >= 0)
            users[rank->nic]++;
    }
}
