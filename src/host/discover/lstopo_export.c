/* Exports an hwloc XML with colours and labels. */
#include "host/discover/lstopo_export.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "host/discover/hwloc_complete.h"
#include "host/discover/hwloc_init.h"

/* Marks a file that contains a plan. */
static const char plan_key[] = "GpubindPlan";

static void set_style(hwloc_obj_t obj, const char *style)
{
    hwloc_obj_add_info(obj, "lstopoStyle", style);
}

static void add_label(hwloc_topology_t topology, hwloc_obj_t parent, const struct text *label,
                      const char *style)
{
    hwloc_obj_t misc = parent ? hwloc_topology_insert_misc_object(topology, parent, label->bytes)
                              : NULL;

    if (misc && style)
        set_style(misc, style);
}

/* The core's object, or that of its PU where the topology has no cores. */
static hwloc_obj_t core_object(hwloc_topology_t topology, const struct core *core)
{
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, (unsigned)core->pu[0]);
    hwloc_obj_t above = pu ? hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu) : NULL;

    return above ? above : pu;
}

/* A box around the cores, or a label in the object that is one already; false where
 * other objects overlap them. */
static bool draw_box(hwloc_topology_t topology, const struct node *node, const struct seat *seat)
{
    hwloc_obj_t group = hwloc_topology_alloc_group_object(topology);
    const char *name = seat->label.bytes;

    if (!group)
        return false;
    for (int c = idset_next(&seat->cores, -1); c >= 0; c = idset_next(&seat->cores, c)) {
        hwloc_obj_t core = core_object(topology, &node->cores[c]);

        if (core)
            hwloc_obj_add_other_obj_sets(group, core);
    }
    group->name = strdup(name);
    /* A package may be all one rank's. */
    group->attr->group.dont_merge = 1;
    group = hwloc_topology_insert_group_object(topology, group);
    if (!group)
        return false;
    if (group->type == HWLOC_OBJ_GROUP && group->name && strcmp(group->name, name) == 0)
        set_style(group, seat->style);
    else
        add_label(topology, group, &seat->label, seat->style);
    return true;
}

static void draw_seat(hwloc_topology_t topology, const struct node *node, const struct seat *seat)
{
    bool boxed;

    for (int c = idset_next(&seat->cores, -1); c >= 0; c = idset_next(&seat->cores, c)) {
        hwloc_obj_t core = core_object(topology, &node->cores[c]);

        if (core && core->type == HWLOC_OBJ_CORE)
            set_style(core, seat->style);
    }
    for (int pu = idset_next(&seat->pus, -1); pu >= 0; pu = idset_next(&seat->pus, pu)) {
        hwloc_obj_t obj = hwloc_get_pu_obj_by_os_index(topology, (unsigned)pu);

        if (obj)
            set_style(obj, seat->style);
    }
    boxed = draw_box(topology, node, seat);
    for (int c = idset_next(&seat->cores, -1); c >= 0 && !boxed; c = idset_next(&seat->cores, c))
        add_label(topology, core_object(topology, &node->cores[c]), &seat->label, seat->style);
}

/* The instances of a GPU have a label each in its box. */
static void draw_gpu(hwloc_topology_t topology, const struct gpu *gpu, const struct tag *tag)
{
    hwloc_obj_t pci = hwloc_get_pcidev_by_busidstring(topology, gpu->pci);

    if (!pci)
        return;
    add_label(topology, pci, &tag->label, tag->style);
    if (!tag->style || gpu->part >= 0)
        return;
    set_style(pci, tag->style);
    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling)
        set_style(os, tag->style);
}

static void draw(hwloc_topology_t topology, const struct node *node, const struct picture *picture)
{
    hwloc_obj_t root = hwloc_get_root_obj(topology);

    for (int s = 0; s < picture->nseats; s++)
        draw_seat(topology, node, &picture->seats[s]);
    for (int g = 0; g < node->ngpus; g++)
        draw_gpu(topology, &node->gpus[g], &picture->tags[g]);
    hwloc_obj_add_info(root, "lstopoLegend", picture->legend.bytes);
    hwloc_obj_add_info(root, plan_key, picture->legend.bytes);
}

/* All that there is, as far as it counts for placement. */
static int load(hwloc_topology_t topology, const char *file, const char *from,
                struct gpubind_error *err)
{
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_BRIDGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (file && !*from)
        return error_set(err, "topology file %s is read twice for --xml, and cannot be a pipe",
                         file);
    /* hwloc counts the NUL. */
    if (file && hwloc_topology_set_xmlbuffer(topology, from, (int)strlen(from) + 1) < 0)
        return refuse_xml(file, from, err);
    if (hwloc_topology_load(topology) < 0)
        return file ? refuse_xml(file, from, err)
                    : error_set(err, "hwloc cannot read the topology: %s", strerror(errno));
    if (hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), plan_key))
        return error_set(err,
                         "%s has a plan drawn in it already: --xml wants the topology that "
                         "it was made from",
                         file ? file : "the topology");
    return 0;
}

static int export(hwloc_topology_t topology, char **xml, struct gpubind_error *err)
{
    char *text;
    int length;

    if (hwloc_topology_export_xmlbuffer(topology, &text, &length, 0) < 0)
        return error_set(err, "hwloc cannot write the topology: %s", strerror(errno));
    *xml = strdup(text);
    hwloc_free_xmlbuffer(topology, text);
    return *xml ? 0 : error_set(err, "out of memory");
}

int gpubind_annotate(const char *version, const char *file, const char *from,
                     const struct node *node, const struct picture *picture, char **xml,
                     struct gpubind_error *err)
{
    hwloc_topology_t topology;
    int status;

    *xml = NULL;
    if (strcmp(version, PACKAGE_VERSION) != 0)
        return error_set(err, "gpubind %s found the discover.so of version %s", version,
                         PACKAGE_VERSION);
    if (init_without_gpu_backends(&topology, file || getenv("HWLOC_XMLFILE")) < 0)
        return error_set(err, "hwloc cannot be used: %s", strerror(errno));
    status = load(topology, file, from, err);
    if (status == 0) {
        hwloc_complete(topology, node);
        draw(topology, node, picture);
        status = export(topology, xml, err);
    }
    hwloc_topology_destroy(topology);
    return status;
}
