/* What hwloc 2 and hwloc 3 call differently. */
#ifndef GPUBIND_CORE_TOPO_HWLOC_VERSIONS_H
#define GPUBIND_CORE_TOPO_HWLOC_VERSIONS_H

#include <hwloc.h>
#include <stdbool.h>

#if HWLOC_API_VERSION >= 0x00030000

#define DISTANCES_LATENCY HWLOC_DISTANCES_KIND_VALUE_LATENCY
#define DISTANCES_BANDWIDTH HWLOC_DISTANCES_KIND_VALUE_BANDWIDTH

static inline bool is_openfabrics(hwloc_obj_t os)
{
    return (os->attr->osdev.types & HWLOC_OBJ_OSDEV_OPENFABRICS) != 0;
}

static inline const struct hwloc_info_s *infos_of(hwloc_obj_t obj, unsigned *n)
{
    *n = obj->infos.count;
    return obj->infos.array;
}

/* What is said of the whole machine is the topology's, no longer its root's. */
static inline const char *machine_info(hwloc_topology_t topology, const char *key)
{
    const char *value = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), key);

    return value ? value : hwloc_get_info_by_name(hwloc_topology_get_infos(topology), key);
}

#else

#define DISTANCES_LATENCY HWLOC_DISTANCES_KIND_MEANS_LATENCY
#define DISTANCES_BANDWIDTH HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH

static inline bool is_openfabrics(hwloc_obj_t os)
{
    return os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

static inline const struct hwloc_info_s *infos_of(hwloc_obj_t obj, unsigned *n)
{
    *n = obj->infos_count;
    return obj->infos;
}

static inline const char *machine_info(hwloc_topology_t topology, const char *key)
{
    return hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), key);
}

#endif

#endif
