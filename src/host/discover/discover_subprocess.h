/* Discovery in the hwloc subprocess. */
#ifndef GPUBIND_HOST_DISCOVER_DISCOVER_SUBPROCESS_H
#define GPUBIND_HOST_DISCOVER_DISCOVER_SUBPROCESS_H

#include "core/base/error.h"
#include "core/report/lstopo_style.h"
#include "core/topo/node.h"

/* gpubind_discover of discover.so. */
typedef int discover_function(const char *, const char *, const char *, struct node *,
                              struct gpubind_error *);

/* As topology_load for a file, or, when file is NULL, for what the environment puts in
 * this machine's place (what, for sentences). Bounded in time and memory; hwloc
 * may die. */
int discover_in_subprocess(discover_function *discover, const char *file, const char *what,
                           struct node *node, struct gpubind_error *err);

/* gpubind_annotate of discover.so. */
typedef int annotate_function(const char *, const char *, const char *, const struct node *,
                              const struct picture *, char **, struct gpubind_error *);

/* As topology_annotate, in the same way. */
int annotate_in_subprocess(annotate_function *annotate, const char *file, const char *what,
                           const struct node *node, const struct picture *picture, char **xml,
                           struct gpubind_error *err);

#endif
