/* Cores of an hwloc topology, and the memory next to each. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/topo/hwloc_versions.h"
#include "core/topo/node_from_hwloc_pci.h"

struct memories {
    hwloc_topology_t topology;
    bool sized;                       /* the topology says how much memory a node has */
    struct hwloc_distances_s *matrix; /* of NUMA nodes; NULL: none */
};

/* Memory that belongs to a device is no CPU's own. */
static bool is_of_gpu(hwloc_obj_t numa)
{
    return numa->subtype && strstr(numa->subtype, "GPU");
}

/* Nor can memory be used whose NUMA node has no number; a recorded machine may lack it. */
static bool has_memory(const struct memories *memories, hwloc_obj_t numa)
{
    return !is_of_gpu(numa) && numa->os_index <= INT_MAX &&
           (!memories->sized || numa->attr->numanode.local_memory);
}

static void open_memories(hwloc_topology_t topology, struct memories *memories)
{
    unsigned n = 1;

    *memories = (struct memories){.topology = topology};
    for (hwloc_obj_t numa = NULL;
         (numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa));)
        memories->sized |= !is_of_gpu(numa) && numa->attr->numanode.local_memory > 0;
    if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &n, &memories->matrix,
                                    DISTANCES_LATENCY, 0) < 0 ||
        n < 1)
        memories->matrix = NULL;
}

/* Distance of two NUMA nodes; the largest number where it is not known. */
static uint64_t distance_between(const struct memories *memories, hwloc_obj_t from, hwloc_obj_t to)
{
    const struct hwloc_distances_s *d = memories->matrix;
    unsigned a = 0, b = 0;

    while (d && from && a < d->nbobjs && d->objs[a] != from)
        a++;
    while (d && b < d->nbobjs && d->objs[b] != to)
        b++;
    return d && from && a < d->nbobjs && b < d->nbobjs ? d->values[a * d->nbobjs + b] : UINT64_MAX;
}

/* Levels to climb from obj until the NUMA node is below. */
static int steps_to(hwloc_obj_t obj, hwloc_obj_t numa)
{
    int steps = 0;

    for (; obj->parent && !hwloc_bitmap_intersects(obj->cpuset, numa->cpuset); obj = obj->parent)
        steps++;
    return steps;
}

/* The memory with the least distance from the NUMA node without (NULL where there is not
 * even that), then the one that is next in the tree, then the first. */
static hwloc_obj_t least_distant(const struct memories *memories, hwloc_obj_t obj,
                                 hwloc_obj_t without)
{
    hwloc_obj_t best = NULL;
    uint64_t least = UINT64_MAX;
    int fewest = INT_MAX;

    for (hwloc_obj_t numa = NULL;
         (numa = hwloc_get_next_obj_by_type(memories->topology, HWLOC_OBJ_NUMANODE, numa));) {
        uint64_t distance = distance_between(memories, without, numa);
        int steps = steps_to(obj, numa);

        if (!has_memory(memories, numa) ||
            (best && (distance != least ? distance > least : steps >= fewest)))
            continue;
        best = numa;
        least = distance;
        fewest = steps;
    }
    return best;
}

/* The first NUMA node that hangs at this object itself, with memory if wanted. */
static hwloc_obj_t numa_at(const struct memories *memories, hwloc_obj_t obj, bool memory)
{
    for (hwloc_obj_t mem = obj->memory_first_child; mem; mem = mem->next_sibling) {
        hwloc_obj_t numa = mem;

        while (numa && numa->type != HWLOC_OBJ_NUMANODE)
            numa = numa->memory_first_child;
        if (numa && (memory ? has_memory(memories, numa) : !is_of_gpu(numa)))
            return numa;
    }
    return NULL;
}

static bool has_memory_below(const struct memories *memories, hwloc_obj_t obj)
{
    for (hwloc_obj_t numa = NULL;
         (numa = hwloc_get_next_obj_by_type(memories->topology, HWLOC_OBJ_NUMANODE, numa));)
        if (has_memory(memories, numa) && hwloc_bitmap_intersects(obj->cpuset, numa->cpuset))
            return true;
    return false;
}

/* Sets the core's memory; returns the object whose cores have the same: that at which
 * their NUMA node hangs, or the largest one around the core that has no memory. */
static hwloc_obj_t find_memory(const struct memories *memories, hwloc_obj_t obj, struct core *core)
{
    hwloc_obj_t at = obj, numa, empty = NULL;

    core->numa = 0;
    for (; at; at = at->parent) {
        numa = numa_at(memories, at, true);
        if (numa) {
            core->numa = (int)numa->os_index;
            return at;
        }
        if (!empty)
            empty = numa_at(memories, at, false);
    }
    numa = least_distant(memories, obj, empty);
    if (numa)
        core->numa = (int)numa->os_index;
    for (at = obj; at->parent && !has_memory_below(memories, at->parent);)
        at = at->parent;
    /* Cores that hang beside those with memory belong together. */
    return at == obj && at->parent ? at->parent : at;
}

/* The object's number among all of its type. Where a Group is around one package and others
 * are inside another, packages lie on two levels, and their logical indexes start anew on
 * each. */
static int number_among_type(hwloc_topology_t topology, hwloc_obj_t obj)
{
    int before = 0;

    if (hwloc_get_type_depth(topology, obj->type) != HWLOC_TYPE_DEPTH_MULTIPLE)
        return (int)obj->logical_index;
    for (int depth = 0; depth < hwloc_topology_get_depth(topology); depth++)
        for (hwloc_obj_t other = hwloc_get_obj_by_depth(topology, depth, 0);
             other && other->type == obj->type; other = other->next_cousin)
            before += hwloc_bitmap_compare_first(other->cpuset, obj->cpuset) < 0;
    return before;
}

static int ancestor_number(hwloc_topology_t topology, hwloc_obj_t obj, hwloc_obj_type_t type)
{
    hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, obj);

    return above ? number_among_type(topology, above) : -1;
}

/* Returns the core's number of allowed PUs. */
static int describe_core(hwloc_topology_t topology, hwloc_obj_t obj, struct core *core)
{
    hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
    int pu = -1, package;

    core->npus = 0;
    while ((pu = hwloc_bitmap_next(obj->cpuset, pu)) >= 0 && core->npus < NODE_MAX_SMT)
        if (hwloc_bitmap_isset(allowed, (unsigned)pu) && pu < IDSET_MAX)
            core->pu[core->npus++] = pu;
    package = ancestor_number(topology, obj, HWLOC_OBJ_PACKAGE);
    core->package = package < 0 ? 0 : package;
    core->l3 = ancestor_number(topology, obj, HWLOC_OBJ_L3CACHE);
    return core->npus;
}

/* Machines that tell nothing about cores have PUs only. */
static hwloc_obj_type_t core_type(hwloc_topology_t topology)
{
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

int node_count_cores(hwloc_topology_t topology)
{
    return hwloc_get_nbobjs_by_type(topology, core_type(topology));
}

/* places: room for as many objects as there are cores. */
static int read_cores(hwloc_topology_t topology, hwloc_obj_t *places, struct core *cores)
{
    hwloc_obj_type_t type = core_type(topology);
    struct memories memories;
    int n = 0;

    open_memories(topology, &memories);
    for (hwloc_obj_t obj = NULL; (obj = hwloc_get_next_obj_by_type(topology, type, obj));) {
        int domain = 0;

        if (!describe_core(topology, obj, &cores[n]))
            continue;
        places[n] = find_memory(&memories, obj, &cores[n]);
        while (places[domain] != places[n])
            domain++;
        cores[n++].numa_domain = domain;
    }
    if (memories.matrix)
        hwloc_distances_release(topology, memories.matrix);
    return n;
}

int node_read_cores(hwloc_topology_t topology, struct node *node, struct gpubind_error *err)
{
    hwloc_obj_t *places = calloc((size_t)node->ncores, sizeof *places);

    if (!places)
        return error_set(err, "out of memory");
    node->ncores = read_cores(topology, places, node->cores);
    free(places);
    return node->ncores < 1 ? error_set(err, "the topology has no CPU that may be used") : 0;
}
