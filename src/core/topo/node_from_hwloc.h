/* The only place where the core reads an hwloc topology. */
#ifndef GPUBIND_CORE_TOPO_NODE_FROM_HWLOC_H
#define GPUBIND_CORE_TOPO_NODE_FROM_HWLOC_H

#include <hwloc.h>

#include "core/base/error.h"
#include "core/topo/node.h"

/* Describes the loaded topology, which must hold PCI and OS devices for GPUs to
 * be found. GPUs of one vendor only: NVIDIA's when there are any, else AMD's,
 * else Intel's. The topology is read, not kept. */
int node_from_hwloc(hwloc_topology_t topology, struct node *node, struct gpubind_error *err);

#endif
