#include "bin/bench_sysfs.h"

#include <stdio.h>
#include <string.h>

void sysfs_read(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "r");

    *line = '\0';
    if (file && !fgets(line, (int)size, file))
        *line = '\0';
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
}

void sysfs_read_pci(const char *pci, const char *name, char *line, size_t size)
{
    char lower[24] = "", path[128];

    for (int i = 0; i < 23 && pci[i]; i++)
        lower[i] = (char)(pci[i] >= 'A' && pci[i] <= 'F' ? pci[i] - 'A' + 'a' : pci[i]);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", lower, name);
    sysfs_read(path, line, size);
}
