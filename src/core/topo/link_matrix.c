/* How GPUs and NICs are connected: PCI, NVLink, XGMI, Xe Link. */
#include "core/topo/link_matrix.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *letters, *meaning;
} words[CONNECTIONS] = {
    [CONNECTION_SELF] = {"X", "the GPU itself"},
    [CONNECTION_SYS] = {"SYS", "PCIe and the interconnect between NUMA nodes, or unknown"},
    [CONNECTION_NODE] = {"NODE", "PCIe and the link between host bridges of one NUMA node"},
    [CONNECTION_PHB] = {"PHB", "PCIe and one host bridge, which mostly is the CPU"},
    [CONNECTION_PXB] = {"PXB", "several PCIe bridges, no host bridge"},
    [CONNECTION_PIX] = {"PIX", "one PCIe bridge at most"},
    [CONNECTION_MIG] = {"MIG", "another instance of the same GPU"},
    [CONNECTION_TILE] = {"TILE", "another tile of the same card"},
    [CONNECTION_NVLINK] = {"NV#", "# NVLinks, directly or through switches"},
    [CONNECTION_XGMI] = {"XGMI#", "XGMI of # GB/s each way"},
    [CONNECTION_XELINK] = {"XE#", "Xe Link of # GB/s each way"},
};

/* MB/s of one NVLink each way: P100; V100 to H200; the B generation. Bandwidth is all
 * that a topology tells, and no P100 has links for a multiple of 100 GB/s. */
static unsigned nvlink_bandwidth(const struct gpu *gpu, unsigned bandwidth)
{
    static const char *const blackwells[] = {"B100", "B200", "B300"};

    for (int i = 0; i < 3; i++)
        if (strstr(gpu->model, blackwells[i]))
            return 50000;
    return bandwidth % 25000 && bandwidth % 20000 == 0 ? 20000 : 25000;
}

static struct connection connection_of_link(const struct gpu *gpu, unsigned bandwidth)
{
    struct connection connection = {CONNECTION_XGMI, bandwidth / 1000};

    if (gpu->vendor == GPU_NVIDIA) {
        connection.kind = CONNECTION_NVLINK;
        connection.number = bandwidth / nvlink_bandwidth(gpu, bandwidth);
    } else if (gpu->vendor == GPU_INTEL) {
        connection.kind = CONNECTION_XELINK;
    }
    connection.number += !connection.number;
    return connection;
}

/* A switch is two bridges, the port of the device and the one towards the CPU. */
static enum connection_kind connection_of_hops(const struct gpu *gpu, unsigned hops)
{
    if (hops < 32)
        return hops <= 2 ? CONNECTION_PIX : CONNECTION_PXB;
    if (hops < 64)
        return CONNECTION_PHB;
    /* The same cores may be those of all NUMA nodes. */
    return hops == 65 || (hops == 64 && gpu->numa_domain >= 0) ? CONNECTION_NODE : CONNECTION_SYS;
}

struct connection connection_of_gpus(const struct node *node, int from, int to)
{
    unsigned bandwidth = node->link[from * node->ngpus + to];
    unsigned there = node->gpu_hops[from * node->ngpus + to];
    unsigned back = node->gpu_hops[to * node->ngpus + from];
    struct connection connection = {CONNECTION_SELF, 0};

    if (from == to)
        return connection;
    if (bandwidth)
        return connection_of_link(&node->gpus[from], bandwidth);
    if (strcmp(node->gpus[from].pci, node->gpus[to].pci) == 0)
        connection.kind = node->gpus[from].mig ? CONNECTION_MIG : CONNECTION_TILE;
    else
        connection.kind = connection_of_hops(&node->gpus[from], there > back ? there : back);
    return connection;
}

struct connection connection_of_nic(const struct node *node, int gpu, int nic)
{
    struct connection connection = {CONNECTION_SELF, 0};

    connection.kind = connection_of_hops(&node->gpus[gpu], node->nic_hops[gpu * node->nnics + nic]);
    return connection;
}

void connection_code(struct connection connection, char code[16])
{
    int length = (int)strcspn(words[connection.kind].letters, "#");

    snprintf(code, 16, "%.*s", length, words[connection.kind].letters);
    if (connection.number)
        snprintf(code + length, 16 - (size_t)length, "%u", connection.number);
}

const char *connection_letters(enum connection_kind kind)
{
    return words[kind].letters;
}

const char *connection_meaning(enum connection_kind kind)
{
    return words[kind].meaning;
}
