/* Why the plan is as it is: a line for each rank. */
#include <stdlib.h>

#include "core/report/render.h"

static const char *where(const struct plan_rank *rank)
{
    static const char *const words[] = {"next to its cores", "in the NUMA node of its cores",
                                        "in the package of its cores",
                                        "in another package than its cores"};

    return words[rank->distance];
}

static int sharers(const struct plan *plan, const struct plan_rank *rank)
{
    int n = 0;

    for (int r = 0; r < plan->nranks; r++)
        for (int i = 0; i < plan->ranks[r].ngpus; i++)
            n += rank->ngpus && plan->ranks[r].gpus[i] == rank->gpus[0];
    return n;
}

static void say_gpu(const struct node *node, const struct plan *plan, const struct plan_rank *rank,
                    const struct policy *policy, struct text *text)
{
    const char *choice = rank->kept     ? "kept as it was set for this rank"
                         : policy->nmap ? "from the map"
                                        : where(rank);
    int shared = sharers(plan, rank);

    text_add(text, "rank %d (local %d): GPU %d at %s, %s", rank->rank, rank->local,
             node->gpus[rank->gpus[0]].index, node->gpus[rank->gpus[0]].pci, choice);
    if (rank->ngpus > 1)
        text_add(text, ", the first of a set of %d", rank->ngpus);
    if (shared > 1 && !rank->kept)
        text_add(text, ", shared by %d ranks", shared);
}

static void say_cpus(const struct plan *plan, const struct plan_rank *rank, struct text *text)
{
    char *ids = idlist_text(&rank->cpus);

    if (plan->bind_cpus)
        text_add(text, "; bound to CPUs %s (%d core%s)", ids ? ids : "?", rank->ncores,
                 rank->ncores == 1 ? "" : "s");
    else
        text_add(text, "; left on CPUs %s", ids ? ids : "?");
    free(ids);
}

void render_why(const struct node *node, const struct plan *plan, const struct policy *policy,
                struct text *text)
{
    for (int r = 0; r < plan->nranks; r++) {
        const struct plan_rank *rank = &plan->ranks[r];

        if (rank->ngpus)
            say_gpu(node, plan, rank, policy, text);
        else
            text_add(text, "rank %d (local %d): no GPU, %s", rank->rank, rank->local,
                     rank->role == ROLE_MASTER ? "a master"
                     : rank->kept              ? "as it was set for this rank"
                     : node->ngpus             ? "all are taken"
                                               : "the node has none");
        say_cpus(plan, rank, text);
        if (rank->nic >= 0)
            text_add(text, "; %s is the nearest NIC", node->nics[rank->nic].name);
        text_add(text, "\n");
    }
    text_add(text,
             "cost: %ld rank%s away from the GPU's NUMA node, %ld hops, imbalance %ld over "
             "packages and %ld over NUMA nodes\n",
             plan->cost.remote, plan->cost.remote == 1 ? "" : "s", plan->cost.hops,
             plan->cost.package_imbalance, plan->cost.numa_imbalance);
}

static int count_role(const struct plan *plan, enum role role)
{
    int n = 0;

    for (int r = 0; r < plan->nranks; r++)
        n += plan->ranks[r].role == role;
    return n;
}

void render_notes(const struct node *node, const struct plan *plan, struct text *text)
{
    const char *name = node->name[0] ? node->name : "this node";

    if (plan->notes & NOTE_NO_GPU)
        text_add(text, "%s has no usable GPU: its ranks are idle\n", name);
    if (plan->notes & NOTE_CORES_SHARED)
        text_add(text, "%s has fewer cores to give than ranks: ranks share cores\n", name);
    if (plan->notes & NOTE_NO_LEFTOVER && !(plan->notes & NOTE_CORES_SHARED))
        text_add(text, "%s has no core left for ranks without a GPU: they are not bound apart\n",
                 name);
    if (plan->notes & NOTE_IDLE)
        text_add(text, "%s has more ranks than its GPUs may take; left idle: %d\n", name,
                 count_role(plan, ROLE_IDLE));
    if (plan->notes & NOTE_UNUSED_GPUS)
        text_add(text, "%s leaves %d of %d GPUs unused: they do not make up a whole set\n", name,
                 node->ngpus - idset_count(&plan->used_gpus), node->ngpus);
    if (plan->notes & NOTE_KEPT)
        text_add(text, "%s: the GPUs were chosen rank by rank before gpubind ran; kept\n", name);
}
