/* Reads attributes of PCI devices from sysfs. */
#ifndef GPUBIND_BENCH_LIB_SYSFS_H
#define GPUBIND_BENCH_LIB_SYSFS_H

#include <stddef.h>

/* The first line of a file, without its end; "" where there is none. */
void sysfs_read(const char *path, char *line, size_t size);
/* The same for an attribute of the PCI device at that address, in upper or lower case. */
void sysfs_read_pci(const char *pci, const char *name, char *line, size_t size);
/* The root port of that device, "0000:00:01.0"; "" if there is none or it is unknown. */
void sysfs_root_port(const char *pci, char port[24]);
/* The same from the device's link, "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0".
 * Pure. */
void sysfs_port_of(const char *link, char port[24]);

#endif
