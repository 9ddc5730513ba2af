/* What discover.so exports besides discovery. */
#ifndef GPUBIND_HOST_DISCOVER_LSTOPO_EXPORT_H
#define GPUBIND_HOST_DISCOVER_LSTOPO_EXPORT_H

#include "core/base/error.h"
#include "core/report/lstopo_style.h"
#include "core/topo/node.h"

/* Makes the hwloc XML of this machine, or of what is in file, with the picture in it
 * and with what the node knows beyond it: lstopo draws it, and it is a machine like
 * any other. version, file and what is in it (from), and node are those of
 * gpubind_discover. *xml is the caller's to free. */
int gpubind_annotate(const char *version, const char *file, const char *from,
                     const struct node *node, const struct picture *picture, char **xml,
                     struct gpubind_error *err);

#endif
