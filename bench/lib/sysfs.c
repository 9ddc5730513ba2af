#include "bench/lib/sysfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static void device_path(const char *pci, char path[64])
{
    char lower[24] = "";

    for (int i = 0; i < 23 && pci[i]; i++)
        lower[i] = (char)(pci[i] >= 'A' && pci[i] <= 'F' ? pci[i] - 'A' + 'a' : pci[i]);
    snprintf(path, 64, "/sys/bus/pci/devices/%s", lower);
}

void sysfs_read_pci(const char *pci, const char *name, char *line, size_t size)
{
    char device[64], path[128];

    device_path(pci, device);
    snprintf(path, sizeof path, "%s/%s", device, name);
    sysfs_read(path, line, size);
}

/* The path component after the bus, unless it is the device itself. */
void sysfs_port_of(const char *link, char port[24])
{
    const char *at = strstr(link, "/pci");

    *port = '\0';
    at = at ? strchr(at + 1, '/') : NULL;
    if (at && strchr(at + 1, '/') && strcspn(at + 1, "/") < 24)
        snprintf(port, 24, "%.*s", (int)strcspn(at + 1, "/"), at + 1);
}

void sysfs_root_port(const char *pci, char port[24])
{
    char device[64], link[512];
    ssize_t length;

    device_path(pci, device);
    length = readlink(device, link, sizeof link - 1);
    link[length > 0 ? length : 0] = '\0';
    sysfs_port_of(link, port);
}
