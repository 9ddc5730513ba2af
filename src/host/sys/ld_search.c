/* Finds a shared library as ld.so would. */
#include "host/sys/ld_search.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/sys/sysroot.h"

/* The class and machine of this program, to compare with. */
static bool fits(const char *root, const char *path)
{
    char theirs[64] = "", ours[64];
    const size_t machine = offsetof(Elf64_Ehdr, e_machine);

    /* Without /proc there is nothing to compare with. */
    if (sysroot_read("", "/proc/self/exe", ours, sizeof ours) < (ssize_t)machine + 2)
        return true;
    if (sysroot_read(root, path, theirs, sizeof theirs) < (ssize_t)machine + 2)
        return false;
    return memcmp(theirs, ELFMAG, SELFMAG) == 0 && theirs[EI_CLASS] == ours[EI_CLASS] &&
           memcmp(theirs + machine, ours + machine, 2) == 0;
}

static bool try_folder(const char *root, const char *folder, size_t length, const char *name,
                       char *path, size_t size)
{
    snprintf(path, size, "%.*s/%s", (int)length, folder, name);
    return length && sysroot_exists(root, "%s", path) && fits(root, path);
}

/* The cache holds the paths as NUL-terminated strings. */
static bool search_cache(const char *root, const char *name, char *path, size_t size)
{
    const size_t limit = 4 << 20;
    char *bytes = malloc(limit);
    ssize_t length = bytes ? sysroot_read(root, "/etc/ld.so.cache", bytes, limit) : -1;
    bool found = false;

    for (ssize_t at = 0; at < length && !found; at += (ssize_t)strlen(bytes + at) + 1) {
        const char *slash = bytes[at] == '/' ? strrchr(bytes + at, '/') : NULL;

        if (!slash || strcmp(slash + 1, name) != 0)
            continue;
        snprintf(path, size, "%s", bytes + at);
        found = sysroot_exists(root, "%s", path) && fits(root, path);
    }
    free(bytes);
    return found;
}

bool ld_search(const char *root, const char *name, const char *folders, char *path, size_t size)
{
    static const char *const own[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};

    while (folders && *folders) {
        size_t length = strcspn(folders, ":");

        if (try_folder(root, folders, length, name, path, size))
            return true;
        folders += length;
        folders += *folders == ':';
    }
    if (search_cache(root, name, path, size))
        return true;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (try_folder(root, own[i], strlen(own[i]), name, path, size))
            return true;
    path[0] = '\0';
    return false;
}
