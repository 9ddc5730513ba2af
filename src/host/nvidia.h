/* What the NVIDIA driver's files tell about a node's GPUs. */
#ifndef GPUBIND_HOST_NVIDIA_H
#define GPUBIND_HOST_NVIDIA_H

#include <stdbool.h>

#include "core/error.h"
#include "core/idlist.h"
#include "core/node.h"

/* Fills UUIDs, minors and models from /proc/driver/nvidia, and asks NVML where
 * nothing else tells: missing UUIDs, MIG instances, GPUs that show nowhere else,
 * and links when want_links. root is put before every path ("" but in tests). */
int nvidia_refine(const char *root, bool want_links, struct node *node,
                  struct gpubind_error *err);

/* The minors of the device files that this process may open. */
void nvidia_minors(const char *root, struct idset *minors);

/* Whether an MPS server of this node can be reached under the user's settings. */
bool nvidia_mps_runs(void);

#endif
