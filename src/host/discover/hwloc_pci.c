/* PCI devices from sysfs for hwloc, without reading configuration space. */
#include "host/discover/hwloc_pci.h"

#include <hwloc/plugins.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/sys/sysroot.h"

#define DEVICES "/sys/bus/pci/devices"
#define CLASS_BRIDGE 0x0604

struct reading {
    const char *root;
    struct pci_tree *tree;
    bool failed;
};

static bool parse_address(const char *text, struct pci_function *function)
{
    int end = 0;

    memset(function, 0, sizeof *function);
    return sscanf(text, "%x:%x:%x.%x%n", &function->domain, &function->bus, &function->dev,
                  &function->func, &end) == 4 &&
           (!text[end] || text[end] == '/') && function->bus <= 0xff;
}

static unsigned read_number(const char *root, const char *name, const char *what)
{
    char path[PATH_MAX], line[32];

    snprintf(path, sizeof path, DEVICES "/%s/%s", name, what);
    return sysroot_line(root, path, line, sizeof line) ? (unsigned)strtoul(line, NULL, 16) : 0;
}

static struct pci_function *add(struct reading *reading, const struct pci_function *function)
{
    struct pci_tree *tree = reading->tree;

    if (tree->n == PCI_TREE_MAX) {
        reading->failed = true;
        return NULL;
    }
    tree->function[tree->n] = *function;
    return &tree->function[tree->n++];
}

/* The bridge at this address, new where there is none yet. */
static struct pci_function *take_bridge(struct reading *reading, struct pci_function *at)
{
    struct pci_tree *tree = reading->tree;

    for (int i = 0; i < tree->n; i++) {
        struct pci_function *known = &tree->function[i];

        if (known->is_bridge && known->domain == at->domain && known->bus == at->bus &&
            known->dev == at->dev && known->func == at->func)
            return known;
    }
    at->is_bridge = true;
    at->class_id = CLASS_BRIDGE;
    at->first_bus = UINT_MAX;
    return add(reading, at);
}

/* target: "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0", the functions above the
 * device before it. Those of another domain belong to a controller that has buses of its
 * own, as Intel's for NVMe. */
static void take_bridges(struct reading *reading, const char *target,
                         const struct pci_function *device)
{
    struct pci_function above, below;

    for (const char *slash = strchr(target, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *next = strchr(slash + 1, '/');
        struct pci_function *bridge;

        if (!next || !parse_address(slash + 1, &above) || above.domain != device->domain ||
            !parse_address(next + 1, &below) || !(bridge = take_bridge(reading, &above)))
            continue;
        if (below.bus < bridge->first_bus)
            bridge->first_bus = below.bus;
        if (device->bus > bridge->last_bus)
            bridge->last_bus = device->bus;
    }
}

static void read_function(const char *name, void *context)
{
    struct reading *reading = context;
    struct pci_function function;
    char path[PATH_MAX], target[PATH_MAX];

    /* hwloc keeps 16 bits of a domain. */
    if (!parse_address(name, &function) || function.domain > 0xffff)
        return;
    function.class_id = read_number(reading->root, name, "class") >> 8;
    if (function.class_id == CLASS_BRIDGE ||
        !hwloc_filter_check_pcidev_subtype_important(function.class_id))
        return;
    function.vendor = read_number(reading->root, name, "vendor");
    function.device = read_number(reading->root, name, "device");
    snprintf(path, sizeof path, DEVICES "/%s", name);
    if (sysroot_link(reading->root, path, target, sizeof target))
        take_bridges(reading, target, &function);
    else
        reading->failed = true;
    add(reading, &function);
}

bool pci_tree_read(const char *root, struct pci_tree *tree)
{
    struct reading reading = {.root = root, .tree = tree};

    tree->n = 0;
    return sysroot_names(root, DEVICES, read_function, &reading) && !reading.failed;
}

/* hwloc's interface for components has been this since 2.1; 3 has another. */
#if HWLOC_COMPONENT_ABI == 7

static void insert(hwloc_topology_t topology, const struct pci_function *function,
                   hwloc_obj_t *tree)
{
    hwloc_obj_t object = hwloc_alloc_setup_object(
        topology, function->is_bridge ? HWLOC_OBJ_BRIDGE : HWLOC_OBJ_PCI_DEVICE,
        HWLOC_UNKNOWN_INDEX);
    struct hwloc_pcidev_attr_s *at;

    if (!object)
        return;
    at = function->is_bridge ? &object->attr->bridge.upstream.pci : &object->attr->pcidev;
    at->domain = (unsigned short)function->domain;
    at->bus = (unsigned char)function->bus;
    at->dev = (unsigned char)function->dev;
    at->func = (unsigned char)function->func;
    at->class_id = (unsigned short)function->class_id;
    at->vendor_id = (unsigned short)function->vendor;
    at->device_id = (unsigned short)function->device;
    if (function->is_bridge) {
        struct hwloc_bridge_attr_s *bridge = &object->attr->bridge;

        bridge->upstream_type = HWLOC_OBJ_BRIDGE_PCI;
        bridge->downstream_type = HWLOC_OBJ_BRIDGE_PCI;
        bridge->downstream.pci.domain = at->domain;
        bridge->downstream.pci.secondary_bus = (unsigned char)function->first_bus;
        bridge->downstream.pci.subordinate_bus = (unsigned char)function->last_bus;
    }
    hwloc_pcidisc_tree_insert_by_busid(tree, object);
}

static int look_for_devices(struct hwloc_backend *backend, struct hwloc_disc_status *status)
{
    struct pci_tree *read = malloc(sizeof *read);
    hwloc_obj_t tree = NULL;

    if (read && pci_tree_read("", read)) {
        for (int i = 0; i < read->n; i++)
            insert(backend->topology, &read->function[i], &tree);
        hwloc_pcidisc_tree_attach(backend->topology, tree);
        status->excluded_phases |= HWLOC_DISC_PHASE_PCI;
    }
    free(read);
    return 0;
}

void hwloc_pci_from_sysfs(hwloc_topology_t topology)
{
    /* Each of them makes hwloc look elsewhere, or as its user wants. */
    static const char *const others[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT",
                                         "HWLOC_CPUID_PATH", "HWLOC_COMPONENTS"};
    static struct hwloc_disc_component component = {.name = "gpubind",
                                                    .phases = HWLOC_DISC_PHASE_PCI};
    struct hwloc_backend *backend;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (getenv(others[i]))
            return;
    backend = hwloc_backend_alloc(topology, &component);
    if (!backend)
        return;
    backend->discover = look_for_devices;
    hwloc_backend_enable(backend);
}

#else

void hwloc_pci_from_sysfs(hwloc_topology_t topology)
{
    (void)topology;
}

#endif
