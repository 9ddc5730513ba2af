/* What discover.so, the only part that needs hwloc, exports. */
#ifndef GPUBIND_HOST_DISCOVER_DISCOVER_H
#define GPUBIND_HOST_DISCOVER_DISCOVER_H

#include "core/base/error.h"
#include "core/topo/node.h"

/* Describes this machine when file is NULL, else what xml, the text of that file,
 * says, without hwloc's own GPU backends. version is the caller's, and must be that
 * of discover.so. The caller clears the node; on failure it is empty and err names
 * the file. */
int gpubind_discover(const char *version, const char *file, const char *xml, struct node *node,
                     struct gpubind_error *err);

#endif
