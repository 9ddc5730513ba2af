/* Adds links and names that hwloc does not know to a topology. */
#ifndef GPUBIND_HOST_DISCOVER_HWLOC_COMPLETE_H
#define GPUBIND_HOST_DISCOVER_HWLOC_COMPLETE_H

#include <hwloc.h>

#include "core/topo/node.h"

/* Adds what hwloc did not see: the node's name, and from the NVIDIA driver UUIDs, models,
 * MIG instances and links. A plan for the topology is then one for the node. */
void hwloc_complete(hwloc_topology_t topology, const struct node *node);

#endif
