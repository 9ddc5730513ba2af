/* PCI devices of an hwloc topology: NICs, links, addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/topo/hwloc_versions.h"
#include "core/topo/node_from_hwloc_pci.h"

int hwloc_device_number(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    int number = -1;

    if (name && strncmp(name, prefix, length) == 0)
        (void)number_read(name + length, 0, 99999, &number);
    return number;
}

int hwloc_by_address(const void *a, const void *b)
{
    const struct hwloc_pcidev_attr_s *x = &(*(const hwloc_obj_t *)a)->attr->pcidev;
    const struct hwloc_pcidev_attr_s *y = &(*(const hwloc_obj_t *)b)->attr->pcidev;
    const unsigned left[] = {x->domain, x->bus, x->dev, x->func};
    const unsigned right[] = {y->domain, y->bus, y->dev, y->func};

    for (int i = 0; i < 4; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* The devices below parent whose names are this prefix and a number: how many there are,
 * and how many have a smaller number. */
static int count_devices(hwloc_obj_t parent, const char *prefix, int number, int *before)
{
    int all = 0;

    *before = 0;
    for (hwloc_obj_t os = parent->io_first_child; os; os = os->next_sibling) {
        int other = hwloc_device_number(os->name, prefix);

        *before += other >= 0 && other < number;
        all += other >= 0;
    }
    return all;
}

/* "rsmi3" is of the family "rsmi", "opencl0d3" of "opencl0d", in whose names devices of
 * one platform differ. */
static const char *const families[] = {"rsmi", "opencl0d", "opencl1d", "opencl2d", "opencl3d"};
#define NFAMILIES (sizeof families / sizeof families[0])

/* The tile or partition that the device "ze1.0", or "ze1" and "rsmi1" where its card has
 * several such, is of its card; -1 where it is all of a card. */
static int part_of_object(hwloc_obj_t obj)
{
    const char *dot = obj->name ? strchr(obj->name, '.') : NULL;
    const char *family = obj->name && strncmp(obj->name, "ze", 2) == 0 ? "ze" : families[0];
    int number = hwloc_device_number(obj->name, family), before;

    if (dot && strncmp(obj->name, "ze", 2) == 0)
        return atoi(dot + 1);
    if (!obj->parent || number < 0)
        return -1;
    return count_devices(obj->parent, family, number, &before) > 1 ? before : -1;
}

static int gpu_of_object(hwloc_obj_t obj, hwloc_obj_t *gpus, const struct node *node)
{
    int part = part_of_object(obj);

    for (; obj && hwloc_obj_type_is_io(obj->type); obj = obj->parent)
        for (int g = 0; g < node->ngpus; g++)
            if (gpus[g] == obj && node->gpus[g].part == part)
                return g;
    return -1;
}

/* Bandwidth between two GPUs: their own link, or over the switches that both
 * reach, whichever carries more. */
static unsigned link_between(const struct hwloc_distances_s *d, const int *gpu, unsigned a,
                             unsigned b)
{
    uint64_t direct = d->values[a * d->nbobjs + b], switched = 0;

    for (unsigned s = 0; s < d->nbobjs; s++) {
        uint64_t up = d->values[a * d->nbobjs + s], down = d->values[s * d->nbobjs + b];

        if (gpu[s] < 0)
            switched += up < down ? up : down;
    }
    return (unsigned)(direct > switched ? direct : switched);
}

static void take_bandwidth(const struct hwloc_distances_s *d, const int *gpu, unsigned a,
                           unsigned b, unsigned *link)
{
    *link = link_between(d, gpu, a, b);
}

/* hwloc gives every XGMI path the bandwidth of one link. */
static void take_hops(const struct hwloc_distances_s *d, const int *gpu, unsigned a, unsigned b,
                      unsigned *link)
{
    uint64_t hops = d->values[a * d->nbobjs + b];

    (void)gpu;
    if (hops > 1)
        *link /= (unsigned)hops;
}

typedef void take_pair(const struct hwloc_distances_s *, const int *, unsigned, unsigned,
                       unsigned *);

static void read_pairs(const struct hwloc_distances_s *d, hwloc_obj_t *gpus, struct node *node,
                       take_pair *take)
{
    int *gpu = malloc((d->nbobjs + 1) * sizeof *gpu);

    if (!gpu)
        return;
    for (unsigned i = 0; i < d->nbobjs; i++)
        gpu[i] = gpu_of_object(d->objs[i], gpus, node);
    for (unsigned a = 0; a < d->nbobjs; a++)
        for (unsigned b = 0; b < d->nbobjs; b++)
            if (a != b && gpu[a] >= 0 && gpu[b] >= 0)
                take(d, gpu, a, b, &node->link[gpu[a] * node->ngpus + gpu[b]]);
    free(gpu);
}

void node_find_links(hwloc_topology_t topology, hwloc_obj_t *gpus, struct node *node)
{
    static const struct {
        const char *name;
        take_pair *take;
    } matrices[] = {{"NVLinkBandwidth", take_bandwidth},
                    {"XGMIBandwidth", take_bandwidth},
                    {"XeLinkBandwidth", take_bandwidth},
                    {"XGMIHops", take_hops}};

    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
        struct hwloc_distances_s *distances = NULL;
        unsigned n = 1;

        if (hwloc_distances_get_by_name(topology, matrices[i].name, &n, &distances, 0) < 0 || n < 1)
            continue;
        read_pairs(distances, gpus, node, matrices[i].take);
        hwloc_distances_release(topology, distances);
    }
}

/* A card as Level Zero lists it: one device with or without sub-devices, or where the
 * machine was recorded with tiles as devices, one for each tile. */
struct card {
    hwloc_obj_t parent; /* its PCI function, if it is one */
    hwloc_obj_t device; /* the first */
    int ndevices, ntiles;
};

struct cards {
    int n;
    struct card card[NODE_MAX_GPUS];
};

static int by_number(const void *a, const void *b)
{
    int x = hwloc_device_number((*(const hwloc_obj_t *)a)->name, "ze");
    int y = hwloc_device_number((*(const hwloc_obj_t *)b)->name, "ze");

    return (x > y) - (x < y);
}

static int count_subdevices(hwloc_obj_t device)
{
    int n = 0;

    for (hwloc_obj_t os = device->io_first_child; os; os = os->next_sibling)
        n += os->name && strncmp(os->name, "ze", 2) == 0;
    return n;
}

/* All cards in Level Zero's order, those that no rank is to have included: they count. */
static void find_cards(hwloc_topology_t topology, struct cards *cards)
{
    hwloc_obj_t devices[NODE_MAX_GPUS];
    size_t n = 0;

    for (hwloc_obj_t os = NULL; (os = hwloc_get_next_osdev(topology, os)) && n < NODE_MAX_GPUS;)
        if (hwloc_device_number(os->name, "ze") >= 0)
            devices[n++] = os;
    qsort(devices, n, sizeof *devices, by_number);
    cards->n = 0;
    for (size_t d = 0; d < n; d++) {
        struct card *card = &cards->card[cards->n];
        hwloc_obj_t parent = devices[d]->parent;

        if (d && parent == devices[d - 1]->parent && parent->type == HWLOC_OBJ_PCI_DEVICE) {
            card[-1].ntiles = ++card[-1].ndevices;
            continue;
        }
        *card = (struct card){parent, devices[d], 1, count_subdevices(devices[d])};
        cards->n++;
    }
}

static int count_tiles(const struct card *card)
{
    return card->ntiles > 1 ? card->ntiles : 1;
}

static bool stands_before(const struct card *a, const struct card *b)
{
    if (a->parent->type != HWLOC_OBJ_PCI_DEVICE || b->parent->type != HWLOC_OBJ_PCI_DEVICE)
        return a->parent->type == HWLOC_OBJ_PCI_DEVICE && b->parent->type != HWLOC_OBJ_PCI_DEVICE;
    return hwloc_by_address(&a->parent, &b->parent) < 0;
}

/* The numbers of a card and of its first tile, in either order. */
static void number_card(const struct cards *cards, int which, struct ze_number number[2])
{
    number[0] = number[1] = (struct ze_number){0, 0};
    for (int c = 0; c < cards->n; c++) {
        const struct card *card = &cards->card[c];

        for (int order = 0; order < 2; order++)
            if (order == 0 ? c < which : stands_before(card, &cards->card[which])) {
                number[order].card++;
                number[order].tile += count_tiles(card);
            }
    }
}

/* The device of a tile, whose UUID is the tile's own. */
static hwloc_obj_t tile_device(const struct card *card, int tile)
{
    hwloc_obj_t first = card->ndevices > 1 ? card->parent->io_first_child
                                           : card->device->io_first_child;

    for (hwloc_obj_t os = first; os; os = os->next_sibling)
        if (part_of_object(os) == tile)
            return os;
    return NULL;
}

/* Replaces the GPU by so many parts, in gpus too. */
static int split_gpu(int gpu, int nparts, hwloc_obj_t *gpus, struct node *node,
                     struct gpubind_error *err)
{
    hwloc_obj_t pci = gpus[gpu];

    if (nparts > 1 && node_split(node, gpu, nparts, err) < 0)
        return -1;
    memmove(&gpus[gpu + nparts], &gpus[gpu + 1],
            (size_t)(node->ngpus - gpu - nparts) * sizeof *gpus);
    for (int i = 0; i < nparts; i++)
        gpus[gpu + i] = pci;
    return 0;
}

static int split_card(const struct cards *cards, int which, int gpu, hwloc_obj_t *gpus,
                      struct node *node, struct gpubind_error *err)
{
    const struct card *card = &cards->card[which];
    int ntiles = count_tiles(card);
    struct ze_number number[2];

    if (split_gpu(gpu, ntiles, gpus, node, err) < 0)
        return -1;
    number_card(cards, which, number);
    for (int t = 0; t < ntiles; t++) {
        struct gpu *tile = &node->gpus[gpu + t];
        hwloc_obj_t device = ntiles > 1 ? tile_device(card, t) : NULL;
        const char *uuid = device ? hwloc_obj_get_info_by_name(device, "LevelZeroUUID") : NULL;

        for (int order = 0; order < 2; order++)
            tile->ze[order] = (struct ze_number){number[order].card, number[order].tile + t};
        if (ntiles > 1)
            text_copy(tile->uuid, sizeof tile->uuid, uuid ? uuid : "");
    }
    return 0;
}

int node_split_tiles(hwloc_topology_t topology, hwloc_obj_t *gpus, struct node *node,
                     struct gpubind_error *err)
{
    struct cards cards;

    if (!node->ngpus || node->gpus[0].vendor != GPU_INTEL)
        return 0;
    find_cards(topology, &cards);
    for (int g = node->ngpus - 1; g >= 0; g--)
        for (int c = 0; c < cards.n; c++)
            if (cards.card[c].parent == gpus[g]) {
                if (split_card(&cards, c, g, gpus, node, err) < 0)
                    return -1;
                break;
            }
    return 0;
}

/* The number and the UUID of each partition are those of its own device. */
static void describe_partitions(hwloc_obj_t pci, const char *family, struct gpu *parts)
{
    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling) {
        int number = hwloc_device_number(os->name, family), part;

        if (number < 0)
            continue;
        count_devices(pci, family, number, &part);
        parts[part].vendor_index = family == families[0] ? number : -1;
        parts[part].uuid[0] = '\0';
        node_write_uuid(hwloc_obj_get_info_by_name(os, "AMDUUID"), &parts[part]);
    }
}

int node_split_partitions(hwloc_obj_t *gpus, struct node *node, struct gpubind_error *err)
{
    if (!node->ngpus || node->gpus[0].vendor != GPU_AMD)
        return 0;
    for (int g = node->ngpus - 1; g >= 0; g--) {
        size_t f = 0;
        int before, n = 0;

        while (f < NFAMILIES && (n = count_devices(gpus[g], families[f], 0, &before)) == 0)
            f++;
        if (n < 2)
            continue;
        if (split_gpu(g, n, gpus, node, err) < 0)
            return -1;
        describe_partitions(gpus[g], families[f], &node->gpus[g]);
    }
    return 0;
}

void node_drop_common_uuids(struct node *node)
{
    for (int g = 0; g < node->ngpus; g++) {
        bool common = false;

        for (int h = g + 1; h < node->ngpus && node->gpus[g].uuid[0]; h++)
            if (strcmp(node->gpus[h].uuid, node->gpus[g].uuid) == 0) {
                common = true;
                node->gpus[h].uuid[0] = '\0';
            }
        if (common)
            node->gpus[g].uuid[0] = '\0';
    }
}

/* hwloc does not know of instances; recorded machines name them in info
 * attributes of the PCI device. */
static int find_instances(hwloc_obj_t pci, char (*uuids)[96], int max)
{
    unsigned ninfos;
    const struct hwloc_info_s *infos = infos_of(pci, &ninfos);
    int n = 0;

    for (unsigned i = 0; i < ninfos && n < max; i++)
        if (strcmp(infos[i].name, "MIGUUID") == 0)
            text_copy(uuids[n++], sizeof uuids[0], infos[i].value);
    return n;
}

int node_split_instances(hwloc_obj_t *gpus, struct node *node, struct gpubind_error *err)
{
    for (int g = node->ngpus - 1; g >= 0; g--) {
        char uuids[8][96];
        int n = find_instances(gpus[g], uuids, 8);

        if (n && node_partition(node, g, uuids, n, err) < 0)
            return -1;
    }
    return 0;
}
