/* Which hwloc components are used, and how a topology is started. */
#ifndef GPUBIND_HOST_DISCOVER_HWLOC_INIT_H
#define GPUBIND_HOST_DISCOVER_HWLOC_INIT_H

#include <hwloc.h>
#include <stdbool.h>

#include "core/base/error.h"

/* hwloc_topology_init, and hwloc's GPU backends are left out. */
int init_without_gpu_backends(hwloc_topology_t *topology, bool reads_xml);

/* Says why this hwloc does not read xml, the text of that file: -1. */
int refuse_xml(const char *file, const char *xml, struct gpubind_error *err);

#endif
