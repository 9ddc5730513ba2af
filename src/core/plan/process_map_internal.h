/* What the two ways to make a layout share. Internal to the core. */
#ifndef GPUBIND_CORE_PLAN_PROCESS_MAP_INTERNAL_H
#define GPUBIND_CORE_PLAN_PROCESS_MAP_INTERNAL_H

#include "core/plan/process_map.h"

/* Position of the node with this name, or -1. */
int layout_find(const struct layout *layout, const char *name);

int layout_make_ranks(struct layout *layout, int nranks, struct gpubind_error *err);

/* The next local rank of the node. */
void layout_place(struct layout *layout, int rank, int node);

/* Fills first and listed; all ranks have their place. */
int layout_list(struct layout *layout, struct gpubind_error *err);

#endif
