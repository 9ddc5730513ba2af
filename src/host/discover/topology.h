/* The node in front of us, or one that was recorded. */
#ifndef GPUBIND_HOST_DISCOVER_TOPOLOGY_H
#define GPUBIND_HOST_DISCOVER_TOPOLOGY_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/report/lstopo_style.h"
#include "core/topo/node.h"

/* Loads this machine when file is NULL, else an hwloc XML. want_links: also ask
 * NVML how the GPUs are linked. The caller clears the node; on failure it is
 * empty and err names the file. CUDA is not initialised, and neither are hwloc's
 * own GPU backends. */
int topology_load(const char *file, bool want_links, struct node *node, struct gpubind_error *err);

/* The hwloc XML of the node that was loaded from file, with the picture in it; *xml is
 * the caller's to free. */
int topology_annotate(const char *file, const struct node *node, const struct picture *picture,
                      char **xml, struct gpubind_error *err);

#endif
