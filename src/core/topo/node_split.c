/* Nodes made of other nodes. */
#include <stdio.h>
#include <string.h>

#include "core/topo/node.h"

/* Copies what old says of GPU from[g] to GPU g of node. */
static void copy_gpus(struct node *node, const struct node *old, const int *from)
{
    for (int a = 0; a < node->ngpus; a++) {
        node->gpus[a] = old->gpus[from[a]];
        for (int b = 0; b < node->ngpus; b++) {
            node->link[a * node->ngpus + b] = old->link[from[a] * old->ngpus + from[b]];
            node->gpu_hops[a * node->ngpus + b] = old->gpu_hops[from[a] * old->ngpus + from[b]];
        }
        for (int n = 0; n < node->nnics; n++)
            node->nic_hops[a * node->nnics + n] = old->nic_hops[from[a] * node->nnics + n];
    }
}

/* Copies what has nothing to do with GPUs. */
static void copy_rest(struct node *node, const struct node *old)
{
    memcpy(node->name, old->name, sizeof node->name);
    node->recorded = old->recorded;
    node->nhidden = old->nhidden;
    memcpy(node->nvml_failure, old->nvml_failure, sizeof node->nvml_failure);
    memcpy(node->cores, old->cores, (size_t)old->ncores * sizeof *old->cores);
    memcpy(node->nics, old->nics, (size_t)old->nnics * sizeof *old->nics);
}

int node_split(struct node *node, int gpu, int nparts, struct gpubind_error *err)
{
    struct node expanded;
    int from[NODE_MAX_GPUS];

    if (node_make(&expanded, node->ncores, node->ngpus - 1 + nparts, node->nnics, err) < 0)
        return -1;
    for (int g = 0; g < expanded.ngpus; g++)
        from[g] = g < gpu ? g : g < gpu + nparts ? gpu : g - nparts + 1;
    copy_gpus(&expanded, node, from);
    for (int i = 0; i < nparts; i++)
        expanded.gpus[gpu + i].part = i;
    copy_rest(&expanded, node);
    node_clear(node);
    *node = expanded;
    return 0;
}

int node_partition(struct node *node, int gpu, char (*uuids)[96], int ninstances,
                   struct gpubind_error *err)
{
    if (ninstances < 1)
        return 0;
    if (node_split(node, gpu, ninstances, err) < 0)
        return -1;
    for (int i = 0; i < ninstances; i++) {
        struct gpu *instance = &node->gpus[gpu + i];

        instance->mig = true;
        memcpy(instance->card_uuid, instance->uuid, sizeof instance->card_uuid);
        snprintf(instance->uuid, sizeof instance->uuid, "%s", uuids[i]);
    }
    return 0;
}

int node_copy(const struct node *from, struct node *to, struct gpubind_error *err)
{
    int same[NODE_MAX_GPUS];

    if (node_make(to, from->ncores, from->ngpus, from->nnics, err) < 0)
        return -1;
    for (int g = 0; g < from->ngpus; g++)
        same[g] = g;
    copy_rest(to, from);
    copy_gpus(to, from, same);
    return 0;
}
