/* What a node has: its GPUs, what is near them, and how they are linked. */
#ifndef GPUBIND_CORE_REPORT_RENDER_LIST_H
#define GPUBIND_CORE_REPORT_RENDER_LIST_H

#include "core/base/text.h"
#include "core/topo/node.h"

/* A title, a line a GPU, the matrix of paths with its legend. */
void render_list(const struct node *node, struct text *text);

/* One line of JSON; see gpubind(1) for the keys. */
void render_list_json(const struct node *node, struct text *text);

/* "NVIDIA" */
const char *vendor_name(enum gpu_vendor vendor);

/* NUMA nodes of the GPU's cores, their PUs, and whether the NIC is among the nearest. */
void gpu_numas(const struct node *node, const struct gpu *gpu, struct idset *numas);
void cores_pus(const struct node *node, const struct idset *cores, struct idset *pus);
bool is_nearest_nic(const struct node *node, int gpu, int nic);

#endif
