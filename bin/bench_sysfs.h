/* What sysfs says, a line at a time. */
#ifndef GPUBIND_BIN_BENCH_SYSFS_H
#define GPUBIND_BIN_BENCH_SYSFS_H

#include <stddef.h>

/* The first line of a file, without its end; "" where there is none. */
void sysfs_read(const char *path, char *line, size_t size);
/* Of a file of the PCI device at that address, in either case. */
void sysfs_read_pci(const char *pci, const char *name, char *line, size_t size);

#endif
