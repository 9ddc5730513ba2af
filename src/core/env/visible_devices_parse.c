/* Reads visibility variables as the vendors' runtimes read them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/env/visible_devices.h"

bool visible_has(const struct visible_list *list, int gpu)
{
    for (int i = 0; i < list->n; i++)
        if (list->gpu[i] == gpu)
            return true;
    return false;
}

static void append(struct visible_list *list, int gpu)
{
    list->gpu[list->n++] = (short)gpu;
}

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t");
}

static const char *next_entry(const char *entry)
{
    const char *comma = strchr(entry, ',');

    return comma ? skip_space(comma + 1) : NULL;
}

static bool is_uuid(const char *entry)
{
    return strncmp(entry, "GPU-", 4) == 0 || strncmp(entry, "MIG-", 4) == 0;
}

static void find_index(const struct node *node, const char *entry, struct visible_list *found)
{
    char *end;
    long index = strtol(entry, &end, 10);

    for (int g = 0; end != entry && g < node->ngpus; g++)
        if (node->gpus[g].card == index)
            append(found, g);
}

/* What stands behind a whole UUID does not matter. */
static bool uuid_fits(const char *uuid, const char *entry, size_t length)
{
    size_t compared = length < strlen(uuid) ? length : strlen(uuid);

    return compared >= 5 && strncasecmp(uuid, entry, compared) == 0;
}

/* One GPU, or all instances of one. */
static void find_uuid(const struct node *node, const char *entry, struct visible_list *found)
{
    size_t length = strcspn(entry, ", \t");

    for (int g = 0; g < node->ngpus; g++) {
        const struct gpu *gpu = &node->gpus[g];
        bool by_card = gpu->mig && strncmp(entry, "GPU-", 4) == 0;

        if (!uuid_fits(by_card ? gpu->card_uuid : gpu->uuid, entry, length))
            continue;
        if (found->n && !(by_card && node->gpus[found->gpu[0]].card == gpu->card)) {
            found->n = 0;
            return;
        }
        append(found, g);
    }
}

static const char *parse_cuda(const struct node *node, const char *value, struct visible_list *list)
{
    const char *entry = skip_space(value);
    bool uuids = is_uuid(entry);

    for (; *value && entry; entry = next_entry(entry)) {
        struct visible_list found = {0};

        if (uuids && is_uuid(entry))
            find_uuid(node, entry, &found);
        else if (!uuids && !is_uuid(entry))
            find_index(node, entry, &found);
        if (!found.n)
            return entry;
        for (int i = 0; i < found.n; i++) {
            if (visible_has(list, found.gpu[i])) {
                list->n = 0;
                return entry;
            }
            append(list, found.gpu[i]);
        }
    }
    return NULL;
}

static bool fits_any(const struct node *node, const char *entry)
{
    size_t length = strcspn(entry, ", \t");

    for (int g = 0; g < node->ngpus; g++)
        if (uuid_fits(node->gpus[g].uuid, entry, length) ||
            uuid_fits(node->gpus[g].card_uuid, entry, length))
            return true;
    return false;
}

const char *visible_unreadable(const struct node *node, const char *value)
{
    const char *entry = value ? skip_space(value) : NULL;
    bool unknown = false;

    for (int g = 0; g < node->ngpus; g++) {
        const struct gpu *gpu = &node->gpus[g];

        unknown |= gpu->vendor == GPU_NVIDIA && !(gpu->mig ? gpu->card_uuid : gpu->uuid)[0];
    }
    for (; unknown && entry && is_uuid(entry); entry = next_entry(entry))
        if (strncmp(entry, "GPU-", 4) == 0 && !fits_any(node, entry))
            return entry;
    return NULL;
}

int visible_number(const struct gpu *gpu)
{
    if (gpu->vendor == GPU_NVIDIA)
        return gpu->card;
    return gpu->vendor_index < 0 ? gpu->index : gpu->vendor_index;
}

static size_t entry_length(const char *entry)
{
    size_t length = strcspn(entry, ",");

    while (length && isspace((unsigned char)entry[length - 1]))
        length--;
    return length;
}

static bool rocr_fits(const struct gpu *gpu, const char *entry, size_t length)
{
    char *end;
    long number;

    if (*entry == 'G' || *entry == 'g')
        return length >= 5 && length <= strlen(gpu->uuid) &&
               strncasecmp(gpu->uuid, entry, length) == 0;
    number = strtol(entry, &end, 0);
    return length && end == entry + length && number == visible_number(gpu);
}

/* The one that the entry fits, or -1. */
static int find_rocr(const struct node *node, const char *entry)
{
    int found = -1;

    for (int g = 0; g < node->ngpus; g++)
        if (rocr_fits(&node->gpus[g], entry, entry_length(entry))) {
            if (found >= 0)
                return -1;
            found = g;
        }
    return found;
}

static const char *parse_rocr(const struct node *node, const char *value, struct visible_list *list)
{
    for (const char *entry = skip_space(value); *value && entry; entry = next_entry(entry)) {
        int gpu = find_rocr(node, entry);

        if (gpu < 0 || visible_has(list, gpu))
            return entry;
        append(list, gpu);
    }
    return NULL;
}

const char *visible_parse_hip(const struct node *node, const char *value, struct visible_list *list)
{
    struct visible_list old = *list;

    list->n = 0;
    for (const char *entry = skip_space(value); entry; entry = next_entry(entry)) {
        char *end;
        long at = strtol(entry, &end, 10);
        int gpu = -1;

        if (is_uuid(entry))
            gpu = find_rocr(node, entry);
        else if (end != entry && end == entry + entry_length(entry) && at >= 0 && at < old.n)
            gpu = old.gpu[at];
        if (gpu < 0 || !visible_has(&old, gpu))
            return entry;
        if (!visible_has(list, gpu))
            append(list, gpu);
    }
    return NULL;
}

struct ze_order visible_ze_order(const char *hierarchy, const char *pci_order)
{
    return (struct ze_order){.composite = hierarchy && strcmp(hierarchy, "COMPOSITE") == 0,
                             .by_pci = pci_order && atoi(pci_order) != 0};
}

void visible_ze_number(const struct gpu *gpu, const struct ze_order *ze, int *device, int *tile)
{
    const struct ze_number *number = &gpu->ze[ze->by_pci];

    *tile = ze->composite ? gpu->part : -1;
    *device = number->card < 0 ? gpu->index : ze->composite ? number->card : number->tile;
}

/* Whether the entry, "DEVICE" or "CARD.TILE", names the GPU. */
static bool ze_fits(const struct gpu *gpu, const struct ze_order *ze, const char *entry)
{
    int device, tile;
    char *end;
    long number = strtol(entry, &end, 0);

    visible_ze_number(gpu, ze, &device, &tile);
    if (end == entry || number != device)
        return false;
    if (*end != '.')
        return true;
    /* Where tiles are devices, they have no parts. */
    return ze->composite && strtol(end + 1, NULL, 0) == (tile < 0 ? 0 : tile);
}

static const char *parse_ze(const struct node *node, const char *value, const struct ze_order *ze,
                            struct visible_list *list)
{
    const char *bad = NULL;
    bool named[NODE_MAX_GPUS] = {false};
    bool all = !*value || strcmp(value, "default") == 0;

    for (const char *entry = all ? NULL : skip_space(value); entry; entry = next_entry(entry)) {
        bool good = false;

        for (int g = 0; g < node->ngpus; g++)
            if (ze_fits(&node->gpus[g], ze, entry))
                good = named[g] = true;
        if (!good && !bad)
            bad = entry;
    }
    for (int g = 0; g < node->ngpus; g++)
        if (all || named[g])
            append(list, g);
    return bad;
}

const char *visible_parse(const struct node *node, const char *value, const struct ze_order *ze,
                          struct visible_list *list)
{
    enum gpu_vendor vendor = node->ngpus ? node->gpus[0].vendor : GPU_NVIDIA;

    list->n = 0;
    switch (vendor) {
    case GPU_AMD:
        return parse_rocr(node, value, list);
    case GPU_INTEL:
        return parse_ze(node, value, ze, list);
    default:
        return parse_cuda(node, value, list);
    }
}

void visible_opened(const struct node *node, struct visible_list *list)
{
    for (int i = 0; i < list->n; i++)
        if (node->gpus[list->gpu[i]].mig) {
            list->gpu[0] = list->gpu[i];
            list->n = 1;
        }
}
