/* GPUs by the PCI bus in sysfs and by the driver's folder in /proc. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/idset.h"
#include "host/discover/nvidia.h"
#include "host/doctor/collect.h"
#include "host/sys/sysroot.h"

struct bus_walk {
    const char *root;
    struct doctor_facts *facts;
};

static long read_number(const char *root, const char *path, int base, long fallback)
{
    char line[64], *end;
    long number;

    if (!sysroot_line(root, path, line, sizeof line))
        return fallback;
    number = strtol(line, &end, base);
    return end == line ? fallback : number;
}

#define CONFIG_EXTENDED 0x100
#define CONFIG_SIZE 4096
#define CAPABILITY_ACS 0x000du

static unsigned byte_at(const char *bytes, size_t at)
{
    return (unsigned char)bytes[at];
}

/* PCI Express, extended capabilities: a list of headers (16 bits id, 4 version, 12 the
 * next one) from 0x100 on; the ACS control register is at 6. Only root may read beyond
 * the first 64 bytes. */
static int read_acs(const char *root, const char *pci)
{
    char path[PATH_MAX], config[CONFIG_SIZE + 1];
    ssize_t length;
    size_t at = CONFIG_EXTENDED;

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/config", pci);
    length = sysroot_read(root, path, config, sizeof config);
    if (length <= CONFIG_EXTENDED)
        return length == CONFIG_EXTENDED ? -2 : -1;
    for (int hops = 0; hops < 64 && at >= CONFIG_EXTENDED && at + 8 <= (size_t)length; hops++) {
        unsigned id = byte_at(config, at) | byte_at(config, at + 1) << 8;
        unsigned next = byte_at(config, at + 2) >> 4 | byte_at(config, at + 3) << 4;

        if (id == CAPABILITY_ACS)
            return (int)(byte_at(config, at + 6) | byte_at(config, at + 7) << 8);
        at = next;
    }
    return -2;
}

/* The kernel's include/linux/ioport.h. */
#define IORESOURCE_MEM_64 0x00100000ull

/* Kernel, PCI in sysfs: a line for each region, its first and last address and its flags. A
 * 64-bit one takes two lines, of which the second is empty. The region's size, -1: not known;
 * *lines moves behind it. */
static long long take_region(const char **lines)
{
    unsigned long long first, last, flags;
    const char *line = *lines;

    if (!line || sscanf(line, "%llx %llx %llx", &first, &last, &flags) != 3)
        return -1;
    for (int i = flags & IORESOURCE_MEM_64 ? 2 : 1; line && i > 0; i--)
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    *lines = line;
    if (last < first)
        return -1;
    return last ? (long long)(last - first + 1) : 0;
}

/* The second region: at line 1, or 2 from Hopper on, whose first is a 64-bit one. A virtual
 * machine sees GH200's memory as the third (kernel, nvgrace-gpu), and a part as the second. */
static long long read_bar1(const char *root, const char *pci)
{
    char path[PATH_MAX], text[2048];
    const char *lines = text;
    long long bar1, next;

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/resource", pci);
    if (sysroot_read(root, path, text, sizeof text) <= 0)
        return -1;
    take_region(&lines);
    bar1 = take_region(&lines);
    next = take_region(&lines);
    return bar1 > 0 && next > bar1 ? next : bar1;
}

static bool is_address(const char *text)
{
    unsigned domain, bus, device, function;
    int end = 0;

    return sscanf(text, "%x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) == 4 &&
           text[end] == '\0' && strlen(text) < 16;
}

/* The link leads through all bridges: ../../../devices/pci0000:00/0000:00:01.0/... */
static void read_bridges(const char *root, struct doctor_gpu *gpu)
{
    char path[PATH_MAX], target[PATH_MAX], *rest = NULL;

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s", gpu->pci);
    if (!sysroot_link(root, path, target, sizeof target))
        return;
    for (char *part = strtok_r(target, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
        struct doctor_bridge *bridge = &gpu->bridge[gpu->nbridges];

        if (!is_address(part) || strcmp(part, gpu->pci) == 0 || gpu->nbridges == DOCTOR_MAX_BRIDGES)
            continue;
        snprintf(bridge->pci, sizeof bridge->pci, "%.15s", part);
        bridge->acs = read_acs(root, part);
        gpu->nbridges++;
    }
}

static void add_pci_device(const char *name, void *context)
{
    const struct bus_walk *bus_walk = context;
    char path[PATH_MAX];
    struct doctor_gpu *gpu;
    long class;

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", name);
    if (!is_address(name) || read_number(bus_walk->root, path, 16, 0) != 0x10de)
        return;
    /* 0x03: display controllers; 0x0680: bridges of no other kind, which NVSwitches are. */
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", name);
    class = read_number(bus_walk->root, path, 16, 0);
    if (class >> 8 == 0x0680 && bus_walk->facts->nswitches++ == 0)
        snprintf(bus_walk->facts->switches, sizeof bus_walk->facts->switches,
                 "/sys/bus/pci/devices/%s", name);
    if (class >> 16 != 0x03)
        return;
    gpu = doctor_facts_gpu(bus_walk->facts, name);
    if (!gpu)
        return;
    gpu->on_bus = true;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", name);
    gpu->numa = (int)read_number(bus_walk->root, path, 10, -2);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", name);
    sysroot_link_name(bus_walk->root, path, gpu->kernel_driver, sizeof gpu->kernel_driver);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/iommu_group/type", name);
    sysroot_line(bus_walk->root, path, gpu->iommu, sizeof gpu->iommu);
    gpu->bar1_bytes = read_bar1(bus_walk->root, name);
    read_bridges(bus_walk->root, gpu);
}

static void add_driver_gpu(const char *name, void *context)
{
    const struct bus_walk *bus_walk = context;
    struct doctor_gpu *gpu = is_address(name) ? doctor_facts_gpu(bus_walk->facts, name) : NULL;
    struct gpu found;
    bool excluded;

    if (!gpu)
        return;
    gpu->in_driver = true;
    memset(&found, 0, sizeof found);
    memcpy(found.pci, gpu->pci, sizeof found.pci);
    found.minor = -1;
    if (!nvidia_read_information(bus_walk->root, &found, &excluded))
        return;
    memcpy(gpu->uuid, found.uuid, sizeof gpu->uuid);
    memcpy(gpu->model, found.model, sizeof gpu->model);
    gpu->minor = found.minor;
}

/* The hypervisor bit of cpuid, which x86 alone has. */
static int read_virtual(const char *root)
{
    char text[8192];

    if (sysroot_exists(root, "/sys/hypervisor/type"))
        return 1;
    if (sysroot_read(root, "/proc/cpuinfo", text, sizeof text) <= 0 || !strstr(text, "flags"))
        return -1;
    return strstr(text, " hypervisor") != NULL;
}

/* The numbers in one of the lists of NUMA nodes; 0: not known. */
static int count_nodes(const char *root, const char *list)
{
    struct idset nodes;
    char path[64], line[1024];

    snprintf(path, sizeof path, "/sys/devices/system/node/%s", list);
    if (!sysroot_line(root, path, line, sizeof line) ||
        idlist_parse(line, "NUMA nodes", &nodes, NULL) < 0)
        return 0;
    return idset_count(&nodes);
}

void doctor_read_bus(const char *root, struct doctor_facts *facts)
{
    struct bus_walk bus_walk = {root, facts};

    sysroot_names(root, "/sys/bus/pci/devices", add_pci_device, &bus_walk);
    facts->lists_gpus = sysroot_names(root, "/proc/driver/nvidia/gpus", add_driver_gpu, &bus_walk);
    facts->nnuma = count_nodes(root, "online");
    facts->nnuma_cpus = count_nodes(root, "has_cpu");
    facts->numa_balancing = (int)read_number(root, "/proc/sys/kernel/numa_balancing", 10, -1);
    facts->virtual_machine = read_virtual(root);
}
