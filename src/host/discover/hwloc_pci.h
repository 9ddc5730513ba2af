/* The PCI tree of this machine for hwloc, without the devices' configuration space.
 *
 * hwloc reads 256 bytes of it for every function of the machine, which takes 0.1 ms each on
 * hardware and some ms where a hypervisor answers; that is most of a discovery. sysfs has
 * what is needed here in memory: addresses and parents in the names of links, and classes. */
#ifndef GPUBIND_HOST_DISCOVER_HWLOC_PCI_H
#define GPUBIND_HOST_DISCOVER_HWLOC_PCI_H

#include <hwloc.h>
#include <stdbool.h>

#define PCI_TREE_MAX 1024

/* A function of a class that hwloc takes for important, or a bridge above such ones. */
struct pci_function {
    unsigned domain, bus, dev, func;
    unsigned class_id;
    unsigned vendor, device; /* 0 for bridges */
    bool is_bridge;
    unsigned first_bus, last_bus; /* below a bridge */
};

struct pci_tree {
    int n;
    struct pci_function function[PCI_TREE_MAX];
};

/* Reads root/sys/bus/pci/devices; false where it cannot be read, or is too large. */
bool pci_tree_read(const char *root, struct pci_tree *tree);

/* Lets the topology, which is to be of this machine, take its PCI tree from sysfs so; where
 * that cannot be, hwloc reads it by itself. After hwloc_topology_init, before the load. */
void hwloc_pci_from_sysfs(hwloc_topology_t topology);

#endif
