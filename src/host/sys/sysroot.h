/* Small files below a system root, which is "" except in tests, where it is a directory that
 * stands for another machine. Nothing here blocks: a pipe in place of a file reads as empty. */
#ifndef GPUBIND_HOST_SYS_SYSROOT_H
#define GPUBIND_HOST_SYS_SYSROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool sysroot_exists(const char *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The beginning of a file, NUL-terminated; the length, or -1 with errno. */
ssize_t sysroot_read(const char *root, const char *path, char *text, size_t size);
/* The first line without the white space at its end; false when there is no file. */
bool sysroot_line(const char *root, const char *path, char *line, size_t size);
/* Where a symbolic link points to, as it stands there. */
bool sysroot_link(const char *root, const char *path, char *target, size_t size);
/* The last part of that. */
bool sysroot_link_name(const char *root, const char *path, char *name, size_t size);

/* Calls take with each name of a folder, "." and ".." aside; false when the folder
 * cannot be read. */
bool sysroot_names(const char *root, const char *path,
                   void (*take)(const char *name, void *context), void *context);

#endif
