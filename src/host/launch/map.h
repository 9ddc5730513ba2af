/* --map: the GPUs to use, in this order. */
#ifndef GPUBIND_HOST_LAUNCH_MAP_H
#define GPUBIND_HOST_LAUNCH_MAP_H

#include "core/base/error.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"

/* Fills nmap and map. text is a list of indices, PCI addresses and UUIDs, or
 * "@FILE": such a list over any number of lines, '#' begins a comment. */
int map_read(const struct node *node, const char *text, struct policy *policy,
             struct gpubind_error *err);

#endif
