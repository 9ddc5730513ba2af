/* The steps of node_from_hwloc. Internal to the core; gpus are the PCI objects of the
 * node's GPUs, in their order. */
#ifndef GPUBIND_CORE_TOPO_NODE_FROM_HWLOC_PCI_H
#define GPUBIND_CORE_TOPO_NODE_FROM_HWLOC_PCI_H

#include "core/topo/node_from_hwloc.h"

/* The number in "cuda0" for "cuda", "ze1" for "ze"; -1 where the name is another. */
int hwloc_device_number(const char *name, const char *prefix);

/* For qsort of PCI objects: hwloc numbers them across domains only by their position in
 * the tree. */
int hwloc_by_address(const void *a, const void *b);

/* node_from_hwloc_cores.c: the number of cores, those that may not be used included; then
 * fills those that may, and sets ncores to their number. */
int node_count_cores(hwloc_topology_t topology);
int node_read_cores(hwloc_topology_t topology, struct node *node, struct gpubind_error *err);

/* node_from_hwloc_gpus.c: the functions that are GPUs of one vendor, which *vendor
 * becomes; returns their number, of which at most max are in found, by address. */
struct vendor;
int node_find_gpus(hwloc_topology_t topology, hwloc_obj_t *found, int max,
                   const struct vendor **vendor);
/* All but address, cores and links. */
void node_describe_gpu(const struct vendor *vendor, hwloc_obj_t pci, struct gpu *gpu);
/* As the vendor's tools write it; nothing where it tells nothing. uuid may be NULL. */
void node_write_uuid(const char *uuid, struct gpu *gpu);

/* Intel's cards of several tiles become as many GPUs, in gpus too, which has room for
 * NODE_MAX_GPUS; all get Level Zero's numbers. */
int node_split_tiles(hwloc_topology_t topology, hwloc_obj_t *gpus, struct node *node,
                     struct gpubind_error *err);

/* Likewise AMD's GPUs that are partitioned, as an MI300A is in CPX mode: their backend
 * lists several devices at one PCI address. */
int node_split_partitions(hwloc_obj_t *gpus, struct node *node, struct gpubind_error *err);

/* A UUID that several GPUs have names none of them. */
void node_drop_common_uuids(struct node *node);

/* The topology's matrices of bandwidths. */
void node_find_links(hwloc_topology_t topology, hwloc_obj_t *gpus, struct node *node);

/* MIG instances, where the recorded machine names them; gpus is as it was. */
int node_split_instances(hwloc_obj_t *gpus, struct node *node, struct gpubind_error *err);

#endif
