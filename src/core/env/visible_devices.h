/* The environment variables by which a process sees some GPUs only. */
#ifndef GPUBIND_CORE_ENV_VISIBLE_DEVICES_H
#define GPUBIND_CORE_ENV_VISIBLE_DEVICES_H

#include "core/base/text.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"

enum visible_mode { VISIBLE_OWN, VISIBLE_FIRST, VISIBLE_ORDERED, VISIBLE_ALL };
enum visible_ids { IDS_UUID, IDS_INDEX };

/* The variables that say what a process sees: those of enum gpu_vendor, and HIP's,
 * which counts what ROCm's left. */
enum { VISIBLE_HIP = 3, VISIBLE_VARIABLES };

/* "CUDA_VISIBLE_DEVICES" and its relatives. */
const char *visible_variable(int which);

/* How Level Zero counts the devices for a process. */
struct ze_order {
    bool composite; /* cards, with tiles as parts of them; else tiles */
    bool by_pci;    /* by PCI address; else in an order of its own */
};
/* From ZE_FLAT_DEVICE_HIERARCHY and ZE_ENABLE_PCI_ID_DEVICE_ORDER, NULL where they
 * are not set. */
struct ze_order visible_ze_order(const char *hierarchy, const char *pci_order);

/* Positions in the node, in the order in which a process sees them. */
struct visible_list {
    int n;
    short gpu[NODE_MAX_GPUS];
};
bool visible_has(const struct visible_list *list, int gpu);

/* Reads a value of the variable of the node's vendor as that vendor does.
 *
 * NVIDIA (CUDA driver 580.159, measured): entries between commas are either all
 * numbers, read as strtol does up to the first other character, or all UUIDs, of which
 * the beginning will do when it fits one GPU only; the first entry that names no GPU
 * ends the list. A GPU named twice makes the driver refuse the whole list. A
 * partitioned GPU stands for all its instances.
 * AMD (ROCr's source): numbers, C's 0x and 0 included, and UUIDs or their beginnings in
 * any case, mixed; an entry that names no GPU, or one for the second time, ends it.
 * Intel (its driver's source): numbers of tiles, or with ze->composite CARD or
 * CARD.TILE; entries that name none are passed over, order does not count, and the
 * empty value is as good as none.
 *
 * Returns the entry where reading stopped, or for Intel the first that was passed over,
 * a pointer into value; NULL when all were good. */
const char *visible_parse(const struct node *node, const char *value, const struct ze_order *ze,
                          struct visible_list *list);

/* NVIDIA: the first UUID in value (NULL: there is none) that fits no GPU's while that of some GPU is not known, so
 * that nobody can tell which one it names; else NULL. */
const char *visible_unreadable(const struct node *node, const char *value);

/* Narrows the list as HIP does on top of ROCr: numbers count its entries. */
const char *visible_parse_hip(const struct node *node, const char *value,
                              struct visible_list *list);

/* CUDA opens one MIG instance, the first that it may see, and no other GPU then. */
void visible_opened(const struct node *node, struct visible_list *list);

/* What a rank may choose of that for itself. */
struct visible_policy {
    enum visible_mode mode;
    enum visible_ids ids;
    struct ze_order ze;
};

/* Adds the value for a rank with GPUs. Returns whether indices were written,
 * which mean something with CUDA_DEVICE_ORDER=PCI_BUS_ID only. */
bool visible_render(const struct node *node, const struct plan *plan, const struct plan_rank *rank,
                    const struct visible_policy *policy, struct text *value);

/* The value with which a process sees no GPU. */
const char *visible_nothing(enum gpu_vendor vendor);

/* Whether the node's GPUs can be shown in any order, and beside each other; else every
 * mode but VISIBLE_ALL is VISIBLE_OWN. */
bool visible_has_order(const struct node *node, const struct plan_rank *rank);

/* A number for a GPU in its vendor's own count. */
int visible_number(const struct gpu *gpu);
/* Level Zero's; tile is -1 where the entry is a whole device. */
void visible_ze_number(const struct gpu *gpu, const struct ze_order *ze, int *device, int *tile);

#endif
