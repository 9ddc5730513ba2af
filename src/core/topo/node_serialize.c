/* A node as bytes and back, with checks. */
#include "core/topo/node_serialize.h"

#include <stdlib.h>
#include <string.h>

struct front {
    char name[sizeof((struct node *)0)->name];
    int recorded, ncores, ngpus, nnics;
};

#define NPIECES 6

_Static_assert(sizeof(struct front) + IDSET_MAX * sizeof(struct core) +
                       NODE_MAX_GPUS * (sizeof(struct gpu) + 2 * NODE_MAX_GPUS * sizeof(unsigned)) +
                       NODE_MAX_NICS * (sizeof(struct nic) + NODE_MAX_GPUS * sizeof(unsigned)) <=
                   NODE_PACK_MAX,
               "the largest node");

/* The node's arrays, in the order in which they travel. */
struct piece {
    void *at;
    size_t size;
};

static void list_pieces(const struct node *node, struct piece pieces[NPIECES])
{
    size_t ncores = (size_t)node->ncores, ngpus = (size_t)node->ngpus;
    size_t nnics = (size_t)node->nnics;

    pieces[0] = (struct piece){node->cores, ncores * sizeof *node->cores};
    pieces[1] = (struct piece){node->gpus, ngpus * sizeof *node->gpus};
    pieces[2] = (struct piece){node->nics, nnics * sizeof *node->nics};
    pieces[3] = (struct piece){node->link, ngpus * ngpus * sizeof *node->link};
    pieces[4] = (struct piece){node->gpu_hops, ngpus * ngpus * sizeof *node->gpu_hops};
    pieces[5] = (struct piece){node->nic_hops, ngpus * nnics * sizeof *node->nic_hops};
}

static size_t packed_size(const struct piece pieces[NPIECES])
{
    size_t size = sizeof(struct front);

    for (int i = 0; i < NPIECES; i++)
        size += pieces[i].size;
    return size;
}

void *node_pack(const struct node *node, size_t *size)
{
    struct front front = {.recorded = node->recorded,
                          .ncores = node->ncores,
                          .ngpus = node->ngpus,
                          .nnics = node->nnics};
    struct piece pieces[NPIECES];
    char *bytes, *at;

    memcpy(front.name, node->name, sizeof front.name);
    list_pieces(node, pieces);
    *size = packed_size(pieces);
    bytes = malloc(*size);
    if (!bytes)
        return NULL;
    memcpy(bytes, &front, sizeof front);
    at = bytes + sizeof front;
    for (int i = 0; i < NPIECES; at += pieces[i].size, i++)
        memcpy(at, pieces[i].at, pieces[i].size);
    return bytes;
}

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

/* Whether all members stand for cores of the node. */
static bool are_cores(const struct node *node, const struct idset *set)
{
    return idset_next(set, node->ncores - 1) < 0;
}

static bool core_is_good(const struct core *core)
{
    /* A bool with another value must not even be read. */
    if (*(const unsigned char *)&core->withheld > 1 || core->npus < 1 || core->npus > NODE_MAX_SMT)
        return false;
    for (int p = 0; p < core->npus; p++)
        if (core->pu[p] < 0 || core->pu[p] >= IDSET_MAX)
            return false;
    return core->l3 >= -1 && core->package >= 0 && core->numa >= 0 && core->numa_domain >= 0 &&
           core->numa_domain < IDSET_MAX;
}

static bool are_numbers(const struct ze_number number[2])
{
    for (int order = 0; order < 2; order++)
        if (number[order].card < -1 || number[order].tile < -1)
            return false;
    return true;
}

static bool gpu_is_good(const struct node *node, const struct gpu *gpu)
{
    unsigned char mig = *(const unsigned char *)&gpu->mig;

    return (unsigned)gpu->vendor <= GPU_INTEL && mig <= 1 && is_text(gpu->pci, sizeof gpu->pci) &&
           is_text(gpu->uuid, sizeof gpu->uuid) && is_text(gpu->model, sizeof gpu->model) &&
           is_text(gpu->card_uuid, sizeof gpu->card_uuid) && gpu->index >= 0 &&
           gpu->index < NODE_MAX_GPUS && gpu->minor >= -1 && gpu->vendor_index >= -1 &&
           gpu->card >= -1 && gpu->card < NODE_MAX_GPUS && gpu->part >= -1 &&
           gpu->part < NODE_MAX_GPUS && are_numbers(gpu->ze) && are_cores(node, &gpu->cores);
}

/* Hops are at most 67, see struct node. */
static bool are_hops(const unsigned *hops, int n)
{
    for (int i = 0; i < n; i++)
        if (hops[i] > 67)
            return false;
    return true;
}

static bool is_good(const struct node *node)
{
    for (int c = 0; c < node->ncores; c++)
        if (!core_is_good(&node->cores[c]))
            return false;
    for (int g = 0; g < node->ngpus; g++)
        if (!gpu_is_good(node, &node->gpus[g]))
            return false;
    for (int n = 0; n < node->nnics; n++)
        if (!is_text(node->nics[n].name, sizeof node->nics[n].name) ||
            !is_text(node->nics[n].pci, sizeof node->nics[n].pci) ||
            !are_cores(node, &node->nics[n].cores))
            return false;
    return are_hops(node->gpu_hops, node->ngpus * node->ngpus) &&
           are_hops(node->nic_hops, node->ngpus * node->nnics);
}

int node_unpack(const void *bytes, size_t size, struct node *node, struct gpubind_error *err)
{
    const char *at = bytes;
    struct piece pieces[NPIECES];
    struct front front;

    memset(node, 0, sizeof *node);
    if (size < sizeof front)
        return error_set(err, "%zu bytes are no node", size);
    memcpy(&front, at, sizeof front);
    if (!is_text(front.name, sizeof front.name) ||
        node_make(node, front.ncores, front.ngpus, front.nnics, NULL) < 0)
        return error_set(err, "%zu bytes are no node", size);
    list_pieces(node, pieces);
    if (size == packed_size(pieces)) {
        at += sizeof front;
        for (int i = 0; i < NPIECES; at += pieces[i].size, i++)
            memcpy(pieces[i].at, at, pieces[i].size);
        memcpy(node->name, front.name, sizeof node->name);
        node->recorded = front.recorded != 0;
        if (is_good(node)) {
            node_locate(node);
            return 0;
        }
    }
    node_clear(node);
    return error_set(err, "%zu bytes are no node", size);
}
