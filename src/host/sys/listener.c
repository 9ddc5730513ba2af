/* The listener of an abstract Unix socket, found without connecting: its inode in /proc/net/unix,
 * and the process that has it among its descriptors. */
#include "host/sys/listener.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A flag in /proc/net/unix: the kernel's SO_ACCEPTCON. */
#define LISTENS 0x10000u

/* The inode of the socket that listens there, 0: none does. */
static unsigned long find_inode(const char *name)
{
    FILE *file = fopen("/proc/net/unix", "re");
    unsigned long found = 0;
    char line[512];

    while (file && !found && fgets(line, sizeof line, file)) {
        unsigned long inode;
        unsigned flags;
        int at = 0;

        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%*s %*s %*s %x %*s %*s %lu @%n", &flags, &inode, &at) == 2 && at &&
            flags & LISTENS && strcmp(line + at, name) == 0)
            found = inode;
    }
    if (file)
        fclose(file);
    return found;
}

/* Whether a process of this user has a descriptor that reads as target. */
static bool has_descriptor(const char *pid, const char *target)
{
    struct dirent *entry;
    char path[64], link[64];
    bool found = false;
    struct stat about;
    DIR *fds;

    snprintf(path, sizeof path, "/proc/%.20s", pid);
    if (stat(path, &about) < 0 || about.st_uid != geteuid())
        return false;
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    fds = opendir(path);
    while (fds && !found && (entry = readdir(fds))) {
        ssize_t length = readlinkat(dirfd(fds), entry->d_name, link, sizeof link - 1);

        link[length > 0 ? length : 0] = '\0';
        found = strcmp(link, target) == 0;
    }
    if (fds)
        closedir(fds);
    return found;
}

bool listener_is_own(const char *name)
{
    const unsigned long inode = find_inode(name);
    struct dirent *entry;
    bool found = false;
    char target[64];
    DIR *processes;

    if (!inode)
        return false;
    snprintf(target, sizeof target, "socket:[%lu]", inode);
    processes = opendir("/proc");
    while (processes && !found && (entry = readdir(processes)))
        found = isdigit((unsigned char)entry->d_name[0]) && has_descriptor(entry->d_name, target);
    if (processes)
        closedir(processes);
    return found;
}
