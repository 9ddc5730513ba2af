/* The environment variables by which a process sees some GPUs only. */
#ifndef GPUBIND_CORE_VISIBLE_H
#define GPUBIND_CORE_VISIBLE_H

#include "core/node.h"
#include "core/plan.h"
#include "core/text.h"

enum visible_mode { VISIBLE_OWN, VISIBLE_FIRST, VISIBLE_ORDERED, VISIBLE_ALL };
enum visible_ids { IDS_UUID, IDS_INDEX };

/* "CUDA_VISIBLE_DEVICES" and its relatives. */
const char *visible_variable(enum gpu_vendor vendor);

/* Reads a value as the CUDA driver does (580.159, measured): entries between
 * commas are either all numbers, read as strtol does up to the first other
 * character, or all UUIDs, of which the beginning will do when it fits one GPU
 * only; the first entry that names no GPU ends the list. A GPU named twice makes
 * the driver refuse the whole list. gpus becomes the positions in the node.
 * Returns the entry where reading stopped, a pointer into value, or NULL when all
 * were good. The empty value means no GPU. */
const char *visible_parse(const struct node *node, const char *value, struct idset *gpus);

/* Adds the value for a rank with GPUs. Returns whether indices were written,
 * which mean something with CUDA_DEVICE_ORDER=PCI_BUS_ID only. */
bool visible_render(const struct node *node, const struct plan *plan, const struct plan_rank *rank,
                    enum visible_mode mode, enum visible_ids ids, struct text *value);

#endif
