/* Where gpubind's other parts are. */
#ifndef GPUBIND_HOST_SYS_INSTALLED_H
#define GPUBIND_HOST_SYS_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

struct installed_file {
    const char *built;     /* in the build tree, from its top */
    const char *installed; /* from libdir, also in a prefix that was moved */
};

/* The build tree comes first, where this program, or the shared object that this code is in, is in
 * one. false: it is nowhere. */
bool installed_find(const struct installed_file *file, char path[PATH_MAX]);

#endif
