/* Runs hwloc in a subprocess with limits on time and memory, for files from users: a crash of
 * hwloc is an error, not the end of the program. */
#ifndef GPUBIND_HOST_DISCOVER_HWLOC_SUBPROCESS_H
#define GPUBIND_HOST_DISCOVER_HWLOC_SUBPROCESS_H

#include <stddef.h>

#include "core/base/error.h"

/* A file of a large machine takes a tenth of a second of CPU time. */
#define HWLOC_CPU_S 30
#define HWLOC_WALL_S 300
/* Until there is something to read. */
#define HWLOC_READ_S 30

struct hwloc_work {
    /* In the child: 0 with bytes, or -1 with a sentence. xml: what is in file, NULL
     * when that is. */
    int (*run)(void *context, const char *xml, char **bytes, size_t *size,
               struct gpubind_error *err);
    void *context;
    const char *file; /* read in the child, once; NULL: none */
    const char *what; /* what is being read, for error messages */
    size_t most;      /* bytes at most */
    int cpu_s;        /* CPU time at most; 0: HWLOC_CPU_S */
    int wall_s;       /* elapsed time at most; 0: HWLOC_WALL_S */
};

/* Sets *bytes, which the caller frees, and *size. */
int hwloc_subprocess_run(const struct hwloc_work *work, char **bytes, size_t *size,
                         struct gpubind_error *err);

#endif
