/* Writes CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, ZE_AFFINITY_MASK and the like. */
#include "core/env/visible_devices.h"

#include <stdlib.h>
#include <string.h>

const char *visible_variable(int which)
{
    static const char *const names[VISIBLE_VARIABLES] = {
        "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "HIP_VISIBLE_DEVICES"};

    return names[which];
}

const char *visible_nothing(enum gpu_vendor vendor)
{
    /* To Level Zero the empty mask is none; a number that no device has hides all. */
    return vendor == GPU_INTEL ? "65535" : "";
}

bool visible_has_order(const struct node *node, const struct plan_rank *rank)
{
    const struct gpu *own = &node->gpus[rank->gpus[0]];

    /* A process opens one instance, and no other GPU beside it; Level Zero has an order
     * of its own, whatever that of the mask. */
    return !own->mig && own->vendor != GPU_INTEL;
}

/* Its own first, then all others that can be seen beside it. */
static int list_first(const struct node *node, const struct plan_rank *rank, int *list)
{
    int n = 0;

    for (; n < rank->ngpus; n++)
        list[n] = rank->gpus[n];
    for (int g = 0; g < node->ngpus; g++) {
        bool mine = node->gpus[g].mig;

        for (int i = 0; i < rank->ngpus; i++)
            mine |= rank->gpus[i] == g;
        if (!mine)
            list[n++] = g;
    }
    return n;
}

/* All of the plan, so that entry (local rank mod n) is the rank's own. */
static int list_ordered(const struct node *node, const struct plan *plan,
                        const struct plan_rank *rank, int *list)
{
    int used[NODE_MAX_GPUS], n = 0, own = 0;

    for (int g = idset_next(&plan->used_gpus, -1); g >= 0; g = idset_next(&plan->used_gpus, g)) {
        if (node->gpus[g].mig)
            continue;
        if (g == rank->gpus[0])
            own = n;
        used[n++] = g;
    }
    for (int i = 0; i < n; i++)
        list[(i - own + rank->local % n + n) % n] = used[i];
    return n;
}

/* Positions in the order in which the rank is to see them. */
static int list_gpus(const struct node *node, const struct plan *plan, const struct plan_rank *rank,
                     enum visible_mode mode, int *list)
{
    if (mode == VISIBLE_FIRST && visible_has_order(node, rank))
        return list_first(node, rank, list);
    if (mode == VISIBLE_ORDERED && visible_has_order(node, rank))
        return list_ordered(node, plan, rank, list);
    for (int i = 0; i < rank->ngpus; i++)
        list[i] = rank->gpus[i];
    return rank->ngpus;
}

/* Instances have no index; GPUs may have no UUID, and Intel's are never named so. */
static bool needs_index(const struct node *node, const int *list, int n, enum visible_ids ids)
{
    bool index = ids == IDS_INDEX;

    for (int i = 0; i < n; i++) {
        const struct gpu *gpu = &node->gpus[list[i]];

        if (gpu->mig)
            return false;
        index |= gpu->vendor == GPU_INTEL || !gpu->uuid[0];
    }
    return index;
}

static void add_number(const struct gpu *gpu, const struct ze_order *ze, struct text *value)
{
    int device = visible_number(gpu), tile = -1;

    if (gpu->vendor == GPU_INTEL)
        visible_ze_number(gpu, ze, &device, &tile);
    text_add(value, "%d", device);
    if (tile >= 0)
        text_add(value, ".%d", tile);
}

bool visible_render(const struct node *node, const struct plan *plan, const struct plan_rank *rank,
                    const struct visible_policy *policy, struct text *value)
{
    int list[NODE_MAX_GPUS];
    int n = list_gpus(node, plan, rank, policy->mode, list);
    bool index = needs_index(node, list, n, policy->ids);

    for (int i = 0; i < n; i++) {
        const struct gpu *gpu = &node->gpus[list[i]];

        text_add(value, "%s", i ? "," : "");
        if (index)
            add_number(gpu, &policy->ze, value);
        else
            text_add(value, "%s", gpu->uuid);
    }
    return index && n && node->gpus[list[0]].vendor == GPU_NVIDIA;
}
