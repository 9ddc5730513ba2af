/* What the NVIDIA driver's files tell about a node's GPUs. */
#ifndef GPUBIND_HOST_DISCOVER_NVIDIA_H
#define GPUBIND_HOST_DISCOVER_NVIDIA_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/idset.h"
#include "core/topo/node.h"

enum nvml_use {
    NVML_NEVER,     /* instances and GPUs that only NVML knows are an error */
    NVML_IF_NEEDED, /* where other sources have no answer: missing UUIDs, MIG instances, GPUs that
                       show nowhere else */
    NVML_FOR_LINKS, /* the same, and always for links */
};

/* Whether the driver's files are about this node's GPUs. With HWLOC_XMLFILE the user pretends
 * to be on another machine, or spares hwloc the work on this one: its GPUs are those of
 * the file, of which the driver, where there is one, may tell more. */
bool nvidia_tells_of(const struct node *node);

/* Fills UUIDs, minors and models from /proc/driver/nvidia, and asks NVML. Drops GPUs that
 * neither lists where it lists others, and excluded ones, and counts them in node->nhidden. root is
 * put before every path ("" but in tests). */
int nvidia_refine(const char *root, enum nvml_use use, struct node *node,
                  struct gpubind_error *err);

/* Whether there is a driver at all. */
bool nvidia_has_driver(const char *root);

/* Reads /proc/driver/nvidia/gpus/ADDRESS/information into UUID, model and minor; false
 * when it is not there. What it does not say stays. excluded: by NVreg_ExcludedGpus, so that nobody can open it. */
bool nvidia_read_information(const char *root, struct gpu *gpu, bool *excluded);

/* The minors of the device files that this process may open: any, where there are no files yet and a program that opens
 * a GPU has nvidia-modprobe make them. */
void nvidia_minors(const char *root, struct idset *minors);

#endif
