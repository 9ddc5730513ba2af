/* Fills a node from an hwloc topology. */
#include "core/topo/node_from_hwloc_pci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/topo/hwloc_versions.h"

static hwloc_obj_t nic_device(hwloc_obj_t pci)
{
    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling)
        if (os->type == HWLOC_OBJ_OS_DEVICE && is_openfabrics(os))
            return os;
    return NULL;
}

#define PORTS 8       /* looked at: hwloc names the states of ports that are there */
#define PORT_ACTIVE 4 /* IBTA's PortState: 1 down, 2 initialize, 3 armed */

/* The first port that is active, or nothing is known of; 0: none is. */
static int nic_port(hwloc_obj_t pci)
{
    const hwloc_obj_t os = nic_device(pci);
    bool known = false;

    for (int port = 1; port <= PORTS; port++) {
        const char *state;
        char name[24];

        snprintf(name, sizeof name, "Port%dState", port);
        state = hwloc_obj_get_info_by_name(os, name);
        known |= state != NULL;
        if (state && atoi(state) == PORT_ACTIVE)
            return port;
    }
    return known ? 0 : 1;
}

/* The NICs among the PCI functions, in order of address: their number. Without those that have no active port, where
 * another one has. */
static int keep_nics(hwloc_obj_t *pcis, int npcis)
{
    bool any_active = false;
    int n = 0;

    for (int i = 0; i < npcis; i++)
        any_active |= nic_device(pcis[i]) && nic_port(pcis[i]);
    for (int i = 0; i < npcis; i++)
        if (nic_device(pcis[i]) && (nic_port(pcis[i]) || !any_active))
            pcis[n++] = pcis[i];
    qsort(pcis, (size_t)n, sizeof *pcis, hwloc_by_address);
    return n;
}

/* All PCI functions; the caller frees, NULL without memory. */
static hwloc_obj_t *list_pcis(hwloc_topology_t topology, int *n)
{
    int all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PCI_DEVICE);
    hwloc_obj_t *pcis = calloc((size_t)(all > 0 ? all : 0) + 1, sizeof *pcis);

    *n = 0;
    for (hwloc_obj_t pci = NULL; pcis && *n < all && (pci = hwloc_get_next_pcidev(topology, pci));)
        pcis[(*n)++] = pci;
    return pcis;
}

static void cores_near(const struct node *node, hwloc_topology_t topology, hwloc_obj_t device,
                       struct idset *near)
{
    hwloc_obj_t parent = hwloc_get_non_io_ancestor_obj(topology, device);

    for (int c = 0; c < node->ncores; c++)
        for (int p = 0; p < node->cores[c].npus; p++)
            if (hwloc_bitmap_isset(parent->cpuset, (unsigned)node->cores[c].pu[p]))
                idset_add(near, c);
}

static void pci_text(hwloc_obj_t pci, char *text, size_t size)
{
    const struct hwloc_pcidev_attr_s *at = &pci->attr->pcidev;

    snprintf(text, size, "%04x:%02x:%02x.%01x", (unsigned)at->domain, at->bus, at->dev, at->func);
}

static bool is_above(hwloc_obj_t above, hwloc_obj_t obj)
{
    for (; obj; obj = obj->parent)
        if (obj == above)
            return true;
    return false;
}

static bool is_host_bridge(hwloc_obj_t obj)
{
    return obj->type == HWLOC_OBJ_BRIDGE &&
           obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

/* Steps from the GPU up to the first object that is above the device too; see
 * struct node. The node's GPUs are located already. */
static unsigned device_hops(const struct node *node, int gpu, hwloc_obj_t from, hwloc_obj_t device,
                            const struct idset *near)
{
    unsigned steps = 0;
    int best = 3;
    hwloc_obj_t at = from;

    for (; hwloc_obj_type_is_io(at->type) && !is_above(at, device); at = at->parent)
        steps++;
    if (hwloc_obj_type_is_io(at->type))
        return (steps < 31 ? steps : 31) + (is_host_bridge(at) ? 32 : 0);
    for (int core = idset_next(near, -1); core >= 0; core = idset_next(near, core)) {
        int distance = node_distance(node, gpu, core);

        if (distance < best)
            best = distance;
    }
    return 64 + (unsigned)best;
}

static void describe_devices(hwloc_topology_t topology, const struct vendor *vendor,
                             hwloc_obj_t *gpus, hwloc_obj_t *nics, struct node *node)
{
    for (int g = 0; g < node->ngpus; g++) {
        node_describe_gpu(vendor, gpus[g], &node->gpus[g]);
        pci_text(gpus[g], node->gpus[g].pci, sizeof node->gpus[g].pci);
        cores_near(node, topology, gpus[g], &node->gpus[g].cores);
    }
    for (int n = 0; n < node->nnics; n++) {
        text_copy(node->nics[n].name, sizeof node->nics[n].name, nic_device(nics[n])->name);
        node->nics[n].port = nic_port(nics[n]);
        pci_text(nics[n], node->nics[n].pci, sizeof node->nics[n].pci);
        cores_near(node, topology, nics[n], &node->nics[n].cores);
    }
    node_locate(node);
    for (int g = 0; g < node->ngpus; g++) {
        for (int h = 0; h < node->ngpus; h++)
            node->gpu_hops[g * node->ngpus + h] = g == h ? 0
                                                         : device_hops(node, g, gpus[g], gpus[h],
                                                                       &node->gpus[h].cores);
        for (int n = 0; n < node->nnics; n++)
            node->nic_hops[g * node->nnics + n] = device_hops(node, g, gpus[g], nics[n],
                                                              &node->nics[n].cores);
    }
}

/* Links are between tiles and partitions, but between whole GPUs even if they have
 * instances. */
static int split(hwloc_topology_t topology, hwloc_obj_t *gpus, struct node *node,
                 struct gpubind_error *err)
{
    if (node_split_tiles(topology, gpus, node, err) < 0 ||
        node_split_partitions(gpus, node, err) < 0)
        return -1;
    node_drop_common_uuids(node);
    node_find_links(topology, gpus, node);
    return node_split_instances(gpus, node, err);
}

static int describe(hwloc_topology_t topology, const struct vendor *vendor, hwloc_obj_t *gpus,
                    hwloc_obj_t *nics, struct node *node, struct gpubind_error *err)
{
    const char *name = machine_info(topology, "HostName");

    if (node_read_cores(topology, node, err) < 0)
        return -1;
    text_copy(node->name, sizeof node->name, name ? name : "");
    describe_devices(topology, vendor, gpus, nics, node);
    return split(topology, gpus, node, err);
}

int node_from_hwloc(hwloc_topology_t topology, struct node *node, struct gpubind_error *err)
{
    hwloc_obj_t gpus[NODE_MAX_GPUS];
    const struct vendor *vendor;
    int npcis, nnics, ngpus = node_find_gpus(topology, gpus, NODE_MAX_GPUS, &vendor);
    hwloc_obj_t *pcis = list_pcis(topology, &npcis);
    int status;

    if (!pcis)
        return error_set(err, "out of memory");
    nnics = keep_nics(pcis, npcis);
    status = node_make(node, node_count_cores(topology), ngpus, nnics, err);
    if (status == 0)
        status = describe(topology, vendor, gpus, pcis, node, err);
    free(pcis);
    if (status < 0)
        node_clear(node);
    else
        node_number(node);
    return status;
}
