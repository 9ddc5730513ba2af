/* GPUs of an hwloc topology: which there are, and what is said of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/topo/node_from_hwloc_pci.h"

/* How the GPUs of a vendor show: names of the OS devices that its own hwloc backends
 * make; where there are none, OpenCL's below functions of its PCI number, and these PCI
 * class codes, which only GPUs for computing have; and the info attribute with the UUID. */
static const struct vendor {
    enum gpu_vendor vendor;
    unsigned short pci_vendor;
    unsigned short classes[2];
    const char *osdevs[2];
    const char *uuid_key;
} vendors[] = {
    {GPU_NVIDIA, 0x10de, {0x0300, 0x0302}, {"cuda", "nvml"}, "NVIDIAUUID"},
    {GPU_AMD, 0x1002, {0x0380, 0x1200}, {"rsmi", "rsmi"}, "AMDUUID"},
    {GPU_INTEL, 0x8086, {0x0380, 0x0380}, {"ze", "ze"}, "LevelZeroUUID"},
};
#define NVENDORS (sizeof vendors / sizeof vendors[0])

/* The number that the vendor's own backend gave the device below pci, or -1. */
static int vendor_number(const struct vendor *vendor, hwloc_obj_t pci)
{
    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling)
        for (int i = 0; i < 2; i++) {
            int number = hwloc_device_number(os->name, vendor->osdevs[i]);

            if (os->type == HWLOC_OBJ_OS_DEVICE && number >= 0)
                return number;
        }
    return -1;
}

/* OpenCL also lists processors and FPGAs. */
static bool has_opencl_gpu(hwloc_obj_t pci)
{
    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling) {
        const char *type = hwloc_obj_get_info_by_name(os, "OpenCLDeviceType");

        if (type && strcmp(type, "GPU") == 0)
            return true;
    }
    return false;
}

static bool looks_like_gpu(const struct vendor *vendor, hwloc_obj_t pci)
{
    unsigned short class_id = pci->attr->pcidev.class_id;

    return pci->attr->pcidev.vendor_id == vendor->pci_vendor &&
           (class_id == vendor->classes[0] || class_id == vendor->classes[1] ||
            has_opencl_gpu(pci));
}

/* GPUs of one vendor: their number, of which at most max are in found, by address. Where
 * its own backend was recorded, a function that the backend did not list is one that
 * programs cannot use, and one that it did is a GPU whatever its class. */
static int find_of_vendor(hwloc_topology_t topology, const struct vendor *vendor,
                          hwloc_obj_t *found, int max)
{
    bool listed = false;
    int n = 0;

    for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(topology, pci));)
        listed |= vendor_number(vendor, pci) >= 0;
    for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(topology, pci));) {
        if (listed ? vendor_number(vendor, pci) < 0 : !looks_like_gpu(vendor, pci))
            continue;
        if (n < max)
            found[n] = pci;
        n++;
    }
    qsort(found, (size_t)(n < max ? n : max), sizeof *found, hwloc_by_address);
    return n;
}

int node_find_gpus(hwloc_topology_t topology, hwloc_obj_t *found, int max,
                   const struct vendor **vendor)
{
    int n = 0;

    for (size_t v = 0; v < NVENDORS && !n; v++) {
        *vendor = &vendors[v];
        n = find_of_vendor(topology, *vendor, found, max);
    }
    return n;
}

static const char *os_info(hwloc_obj_t pci, const char *key)
{
    const char *value = hwloc_obj_get_info_by_name(pci, key);

    for (hwloc_obj_t os = pci->io_first_child; os && !value; os = os->next_sibling)
        value = hwloc_obj_get_info_by_name(os, key);
    return value;
}

void node_write_uuid(const char *uuid, struct gpu *gpu)
{
    char *end;
    unsigned long long id;

    /* A driver that may not tell writes question marks. */
    if (!uuid || strchr(uuid, '?'))
        return;
    id = strtoull(uuid, &end, 16);
    if (gpu->vendor != GPU_AMD || *end)
        text_copy(gpu->uuid, sizeof gpu->uuid, uuid);
    else if (id) /* ROCm writes all 16 digits, hwloc only those that it must. */
        snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%016llx", id);
}

void node_describe_gpu(const struct vendor *vendor, hwloc_obj_t pci, struct gpu *gpu)
{
    const char *model = os_info(pci, "GPUModel");

    if (!model)
        model = os_info(pci, "LevelZeroModel");
    gpu->vendor = vendor->vendor;
    gpu->minor = -1;
    gpu->vendor_index = vendor_number(vendor, pci);
    node_write_uuid(os_info(pci, vendor->uuid_key), gpu);
    if (model)
        text_copy(gpu->model, sizeof gpu->model, model);
}
