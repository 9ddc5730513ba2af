/* Adds links and names that hwloc does not know to a topology. */
#include "host/discover/hwloc_complete.h"

#include <stdlib.h>
#include <string.h>

#include "core/topo/hwloc_versions.h"

static bool has_info(hwloc_obj_t pci, const char *key)
{
    bool found = hwloc_obj_get_info_by_name(pci, key) != NULL;

    for (hwloc_obj_t os = pci->io_first_child; os && !found; os = os->next_sibling)
        found = hwloc_obj_get_info_by_name(os, key) != NULL;
    return found;
}

static void add_missing(hwloc_obj_t pci, const char *key, const char *value)
{
    if (value[0] && !has_info(pci, key))
        hwloc_obj_add_info(pci, key, value);
}

/* The instances that follow gpu in its place. */
static void add_instances(const struct node *node, int gpu, hwloc_obj_t pci)
{
    if (has_info(pci, "MIGUUID"))
        return;
    for (int g = gpu; g < node->ngpus && strcmp(node->gpus[g].pci, node->gpus[gpu].pci) == 0; g++)
        hwloc_obj_add_info(pci, "MIGUUID", node->gpus[g].uuid);
}

/* Named matrices can be added since hwloc 2.5. */
#if HWLOC_API_VERSION >= 0x00020500
static void add_links(hwloc_topology_t topology, const struct node *node, hwloc_obj_t *pcis)
{
    size_t n = (size_t)node->ngpus;
    hwloc_uint64_t *values = calloc(n * n + 1, sizeof *values);
    struct hwloc_distances_s *present = NULL;
    hwloc_distances_add_handle_t handle = NULL;
    unsigned nr = 1;

    hwloc_distances_get_by_name(topology, "NVLinkBandwidth", &nr, &present, 0);
    if (nr)
        hwloc_distances_release(topology, present);
    else if (values)
        handle = hwloc_distances_add_create(
            topology, "NVLinkBandwidth", HWLOC_DISTANCES_KIND_FROM_USER | DISTANCES_BANDWIDTH, 0);
    for (size_t i = 0; handle && i < n * n; i++)
        values[i] = node->link[i];
    /* A failure frees the handle. */
    if (handle && hwloc_distances_add_values(topology, handle, (unsigned)n, pcis, values, 0) == 0)
        hwloc_distances_add_commit(topology, handle, 0);
    free(values);
}
#else
static void add_links(hwloc_topology_t topology, const struct node *node, hwloc_obj_t *pcis)
{
    (void)topology, (void)node, (void)pcis;
}
#endif

void hwloc_complete(hwloc_topology_t topology, const struct node *node)
{
    hwloc_obj_t pcis[NODE_MAX_GPUS];
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    bool whole = true, linked = false;

    if (node->name[0] && !machine_info(topology, "HostName"))
        hwloc_obj_add_info(root, "HostName", node->name);
    for (int g = 0; g < node->ngpus; g++) {
        const struct gpu *gpu = &node->gpus[g];
        bool first = g == 0 || strcmp(gpu->pci, node->gpus[g - 1].pci) != 0;

        pcis[g] = hwloc_get_pcidev_by_busidstring(topology, gpu->pci);
        whole = whole && pcis[g] && !gpu->mig;
        for (int h = 0; h < node->ngpus; h++)
            linked |= node->link[g * node->ngpus + h] != 0;
        if (!pcis[g] || gpu->vendor != GPU_NVIDIA)
            continue;
        add_missing(pcis[g], "GPUModel", gpu->model);
        if (!gpu->mig)
            add_missing(pcis[g], "NVIDIAUUID", gpu->uuid);
        else if (first)
            add_instances(node, g, pcis[g]);
    }
    if (whole && linked && node->gpus[0].vendor == GPU_NVIDIA)
        add_links(topology, node, pcis);
}
