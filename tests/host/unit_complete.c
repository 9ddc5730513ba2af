/* What only the NVIDIA driver told is in the XML too: the topology with it describes the
 * node that it was made from. */
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "core/topo/node_from_hwloc.h"
#include "host/discover/hwloc_complete.h"
#include "tests/tap.h"

/* A machine as hwloc sees it without NVML, from a file or from XML in memory. */
static hwloc_topology_t load(const char *file, const char *xml, int length)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) < 0)
        exit(99);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (file)
        hwloc_topology_set_type_filter(topology, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_NONE);
    if ((file ? hwloc_topology_set_xml(topology, file)
              : hwloc_topology_set_xmlbuffer(topology, xml, length)) < 0 ||
        hwloc_topology_load(topology) < 0) {
        printf("Bail out! cannot load %s\n", file ? file : "what was exported");
        exit(99);
    }
    return topology;
}

static void describe(hwloc_topology_t topology, struct node *node)
{
    struct gpubind_error err;

    if (node_from_hwloc(topology, node, &err) < 0) {
        printf("Bail out! %s\n", err.text);
        exit(99);
    }
}

/* Through XML and back. */
static void complete(hwloc_topology_t topology, const struct node *node, struct node *back)
{
    hwloc_topology_t again;
    char *xml;
    int length;

    hwloc_complete(topology, node);
    if (hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0) < 0)
        exit(99);
    again = load(NULL, xml, length);
    describe(again, back);
    hwloc_topology_destroy(again);
    hwloc_free_xmlbuffer(topology, xml);
}

static bool same_gpus(const struct node *a, const struct node *b)
{
    bool same = a->ngpus == b->ngpus;

    for (int g = 0; same && g < a->ngpus; g++)
        same = strcmp(a->gpus[g].pci, b->gpus[g].pci) == 0 &&
               strcmp(a->gpus[g].uuid, b->gpus[g].uuid) == 0 &&
               strcmp(a->gpus[g].model, b->gpus[g].model) == 0 && a->gpus[g].mig == b->gpus[g].mig;
    return same;
}

static void test_links(hwloc_topology_t topology)
{
    struct node node, back;
    size_t nlinks;

    describe(topology, &node);
    tap_ok(node.ngpus == 8 && !node.gpus[0].uuid[0] && !node.link[1], "hwloc alone tells little");
    for (int g = 0; g < node.ngpus; g++) {
        snprintf(node.gpus[g].uuid, sizeof node.gpus[g].uuid, "GPU-%d", g);
        snprintf(node.gpus[g].model, sizeof node.gpus[g].model, "NVIDIA H200");
        for (int h = 0; h < node.ngpus; h++)
            node.link[g * node.ngpus + h] = g == h ? 0 : g / 4 == h / 4 ? 450000 : 25000;
    }
    node.gpus[3].uuid[0] = '\0';
    nlinks = (size_t)node.ngpus * (size_t)node.ngpus;
    complete(topology, &node, &back);
    tap_ok(same_gpus(&node, &back), "UUIDs and models; one that is unknown stays so");
#if HWLOC_API_VERSION >= 0x00020500
    tap_ok(memcmp(node.link, back.link, nlinks * sizeof *node.link) == 0, "links");
#else
    (void)nlinks;
    tap_skip("links", "hwloc before 2.5");
#endif
    node_clear(&node);
    node_clear(&back);
}

static void test_instances(hwloc_topology_t topology)
{
    char uuids[2][96] = {"MIG-a", "MIG-b"};
    struct gpubind_error err;
    struct node node, back;

    describe(topology, &node);
    if (node_partition(&node, 5, uuids, 2, &err) < 0)
        exit(99);
    complete(topology, &node, &back);
    tap_ok(back.ngpus == 9 && same_gpus(&node, &back), "MIG instances");
    node_clear(&back);
    complete(topology, &node, &back);
    tap_ok(same_gpus(&node, &back), "nothing is added twice");
    node_clear(&node);
    node_clear(&back);
}

int main(void)
{
    const char *top = getenv("top_srcdir");
    char file[4096];

    snprintf(file, sizeof file, "%s/tests/machines/islands-8g.xml", top ? top : "..");
    for (int i = 0; i < 2; i++) {
        hwloc_topology_t topology = load(file, NULL, 0);

        (i ? test_instances : test_links)(topology);
        hwloc_topology_destroy(topology);
    }
    return tap_done();
}
