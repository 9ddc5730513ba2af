#ifndef GPUBIND_HOST_SYS_FILE_WRITE_H
#define GPUBIND_HOST_SYS_FILE_WRITE_H

#include <stddef.h>

#include "core/base/error.h"

/* Makes or replaces a file, at once: readers find the old or the whole new one, and a
 * failure leaves the old. What is no regular file (a pipe, /dev/stdout) is written to. */
int file_write(const char *path, const char *bytes, size_t nbytes, struct gpubind_error *err);

#endif
