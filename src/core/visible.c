#include "core/visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *visible_variable(enum gpu_vendor vendor)
{
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                        "ZE_AFFINITY_MASK"};

    return names[vendor];
}

static bool is_uuid(const char *entry)
{
    return strncmp(entry, "GPU-", 4) == 0 || strncmp(entry, "MIG-", 4) == 0;
}

static int find_index(const struct node *node, const char *entry)
{
    char *end;
    long index = strtol(entry, &end, 10);

    for (int g = 0; end != entry && g < node->ngpus; g++)
        if (node->gpus[g].index == index)
            return g;
    return -1;
}

/* What stands behind a whole UUID does not matter. */
static int find_uuid(const struct node *node, const char *entry)
{
    size_t length = strcspn(entry, ", \t");
    int found = -1;

    for (int g = 0; length > 4 && g < node->ngpus; g++) {
        const char *uuid = node->gpus[g].uuid;
        size_t compared = length < strlen(uuid) ? length : strlen(uuid);

        if (compared < 5 || strncasecmp(uuid, entry, compared) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = g;
    }
    return found;
}

const char *visible_parse(const struct node *node, const char *value, struct idset *gpus)
{
    const char *entry = value + strspn(value, " \t");
    bool uuids = is_uuid(entry);

    idset_clear(gpus);
    if (!*value)
        return NULL;
    for (;;) {
        const char *comma = strchr(entry, ',');
        int g = -1;

        if (is_uuid(entry) == uuids)
            g = uuids ? find_uuid(node, entry) : find_index(node, entry);
        if (g >= 0 && idset_has(gpus, g))
            idset_clear(gpus);
        else if (g >= 0)
            idset_add(gpus, g);
        if (g < 0 || !idset_has(gpus, g))
            return entry;
        if (!comma)
            return NULL;
        entry = comma + 1 + strspn(comma + 1, " \t");
    }
}

/* Positions in the order in which the rank is to see them. */
static int list_gpus(const struct node *node, const struct plan *plan,
                     const struct plan_rank *rank, enum visible_mode mode, int *list)
{
    int n = 0, own = 0, shift;

    /* A process opens the first instance that it sees, and no other. */
    if (mode == VISIBLE_OWN || node->gpus[rank->gpus[0]].mig) {
        for (; n < rank->ngpus; n++)
            list[n] = rank->gpus[n];
        return n;
    }
    if (mode == VISIBLE_FIRST) {
        for (; n < rank->ngpus; n++)
            list[n] = rank->gpus[n];
        for (int g = 0; g < node->ngpus; g++) {
            bool mine = false;

            for (int i = 0; i < rank->ngpus; i++)
                mine |= rank->gpus[i] == g;
            if (!mine)
                list[n++] = g;
        }
        return n;
    }
    /* Entry (local rank mod n) is to be the rank's own. */
    for (int g = idset_next(&plan->used_gpus, -1); g >= 0;
         g = idset_next(&plan->used_gpus, g)) {
        if (g == rank->gpus[0])
            own = n;
        n++;
    }
    shift = rank->local % n;
    for (int g = idset_next(&plan->used_gpus, -1), at = 0; g >= 0;
         g = idset_next(&plan->used_gpus, g), at++)
        list[(at - own + shift + n) % n] = g;
    return n;
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

bool visible_render(const struct node *node, const struct plan *plan, const struct plan_rank *rank,
                    enum visible_mode mode, enum visible_ids ids, struct text *value)
{
    int list[NODE_MAX_GPUS];
    int n = list_gpus(node, plan, rank, mode, list);
    bool index = needs_index(node, list, n, ids);

    for (int i = 0; i < n; i++) {
        const struct gpu *gpu = &node->gpus[list[i]];
        /* Other vendors count in an order of their own. */
        int number = gpu->vendor == GPU_NVIDIA || gpu->vendor_index < 0 ? gpu->index
                                                                        : gpu->vendor_index;

        text_add(value, "%s", i ? "," : "");
        if (index)
            text_add(value, "%d", number);
        else
            text_add(value, "%s", gpu->uuid);
    }
    return index && n && node->gpus[list[0]].vendor == GPU_NVIDIA;
}
