/* Reads files below a system root, which tests replace. */
#include "host/sys/sysroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool sysroot_exists(const char *root, const char *format, ...)
{
    char path[PATH_MAX], full[2 * PATH_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    snprintf(full, sizeof full, "%s%s", root, path);
    return access(full, F_OK) == 0;
}

ssize_t sysroot_read(const char *root, const char *path, char *text, size_t size)
{
    char full[2 * PATH_MAX];
    size_t length = 0;
    ssize_t got;
    int fd;

    text[0] = '\0';
    snprintf(full, sizeof full, "%s%s", root, path);
    fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    do {
        got = read(fd, text + length, size - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    text[length] = '\0';
    close(fd);
    return got < 0 ? -1 : (ssize_t)length;
}

bool sysroot_line(const char *root, const char *path, char *line, size_t size)
{
    size_t length;

    if (sysroot_read(root, path, line, size) < 0)
        return false;
    length = strcspn(line, "\n");
    while (length && strchr(" \t\r", line[length - 1]))
        length--;
    line[length] = '\0';
    return true;
}

bool sysroot_link(const char *root, const char *path, char *target, size_t size)
{
    char full[2 * PATH_MAX];
    ssize_t length;

    snprintf(full, sizeof full, "%s%s", root, path);
    length = readlink(full, target, size - 1);
    target[length > 0 ? length : 0] = '\0';
    return length > 0;
}

bool sysroot_link_name(const char *root, const char *path, char *name, size_t size)
{
    char target[PATH_MAX];
    const char *slash;

    name[0] = '\0';
    if (!sysroot_link(root, path, target, sizeof target))
        return false;
    slash = strrchr(target, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : target);
    return true;
}

bool sysroot_names(const char *root, const char *path,
                   void (*take)(const char *name, void *context), void *context)
{
    char full[2 * PATH_MAX];
    struct dirent *entry;
    DIR *dir;

    snprintf(full, sizeof full, "%s%s", root, path);
    dir = opendir(full);
    if (!dir)
        return false;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            take(entry->d_name, context);
    closedir(dir);
    return true;
}
