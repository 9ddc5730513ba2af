/* Finds GPUs of a node by index, PCI address or UUID. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/topo/node.h"

/* "3b:00.0" stands for domain 0000. */
static bool pci_matches(const struct gpu *gpu, const char *text)
{
    return strcasecmp(gpu->pci, text) == 0 ||
           (strncmp(gpu->pci, "0000:", 5) == 0 && strcasecmp(gpu->pci + 5, text) == 0) ||
           /* nvidia-smi writes the domain with eight digits. */
           (strncmp(text, "0000", 4) == 0 && strcasecmp(gpu->pci, text + 4) == 0);
}

/* A decimal number below a million; -1: the text is none. */
static int read_number(const char *text)
{
    int number = -1;

    (void)number_read(text, 0, 999999, &number);
    return number;
}

static bool uuid_begins(const char *uuid, const char *text)
{
    return strlen(text) > 4 && strncasecmp(uuid, text, strlen(text)) == 0;
}

/* The card is named by its number, address or UUID. */
static bool card_matches(const struct gpu *gpu, const char *text)
{
    return read_number(text) == gpu->card || pci_matches(gpu, text) ||
           (strncasecmp(text, "GPU-", 4) == 0 && uuid_begins(gpu->card_uuid, text));
}

/* "CARD:PART". No PCI address ends in a colon and a number. */
static bool part_matches(const struct gpu *gpu, const char *text)
{
    const char *colon = strrchr(text, ':');
    char card[96];

    if (gpu->part < 0 || !colon || (size_t)(colon - text) >= sizeof card ||
        read_number(colon + 1) != gpu->part)
        return false;
    snprintf(card, sizeof card, "%.*s", (int)(colon - text), text);
    return card_matches(gpu, card);
}

static bool gpu_matches(const struct gpu *gpu, const char *text)
{
    if (text[0] && !text[strspn(text, "0123456789")])
        return read_number(text) == gpu->index;
    if (strncasecmp(text, "GPU-", 4) == 0 || strncasecmp(text, "MIG-", 4) == 0)
        return uuid_begins(gpu->uuid, text) || uuid_begins(gpu->card_uuid, text) ||
               part_matches(gpu, text);
    return pci_matches(gpu, text) || part_matches(gpu, text) ||
           (*text && strcasecmp(gpu->uuid, text) == 0);
}

static void list_gpus(const struct node *node, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int g = 0; g < node->ngpus && used < size; g++) {
        const struct gpu *gpu = &node->gpus[g];
        char part[16] = "";

        if (gpu->part >= 0)
            snprintf(part, sizeof part, ":%d", gpu->part);
        used += (size_t)snprintf(text + used, size - used, "%s%d = %s%s%s%.12s", g ? ", " : "",
                                 gpu->index, gpu->pci, part, gpu->uuid[0] ? " " : "", gpu->uuid);
    }
    if (!node->ngpus)
        snprintf(text, size, "none");
}

int node_find_gpu(const struct node *node, const char *text, struct gpubind_error *err)
{
    int found = -1, nfound = 0;
    char list[400];

    for (int g = 0; g < node->ngpus; g++)
        if (gpu_matches(&node->gpus[g], text)) {
            found = g;
            nfound++;
        }
    if (nfound == 1)
        return found;
    list_gpus(node, list, sizeof list);
    return error_set(err, "'%s' %s; there are: %s", text,
                     nfound ? "fits more than one GPU" : "is no GPU of this node", list);
}
