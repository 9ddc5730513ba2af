/* Reads and writes whole files. */
#ifndef GPUBIND_HOST_SYS_FILE_H
#define GPUBIND_HOST_SYS_FILE_H

#include <stddef.h>

#include "core/base/error.h"

/* The whole of a text file, NUL-terminated, which the caller frees; NULL with a
 * sentence that names it. Files of more than 16 MiB or with NUL bytes are refused. */
char *file_read(const char *path, struct gpubind_error *err);

/* The same; gives up where there is nothing to read for so long, as from a pipe without a
 * writer. */
char *file_read_within(const char *path, int seconds, struct gpubind_error *err);

/* As file_read of a file with a list: entries between white space or commas, over any
 * number of lines, come with one comma between them, and without comments, which
 * '#' begins. */
char *file_read_list(const char *path, struct gpubind_error *err);

/* Makes or replaces a file, at once: readers find the old or the whole new one, and a
 * failure leaves the old. What is no regular file (a pipe, /dev/stdout) is written to. */
int file_write(const char *path, const char *bytes, size_t nbytes, struct gpubind_error *err);

#endif
