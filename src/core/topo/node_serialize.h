/* A node as bytes, from one process to another of the same build. */
#ifndef GPUBIND_CORE_TOPO_NODE_SERIALIZE_H
#define GPUBIND_CORE_TOPO_NODE_SERIALIZE_H

#include <stddef.h>

#include "core/topo/node.h"

/* More than the largest node takes. */
#define NODE_PACK_MAX ((size_t)64 << 20)

/* The caller frees; NULL without memory. */
void *node_pack(const struct node *node, size_t *size);

/* The bytes are not trusted: everything that planning relies on is checked. The caller clears the
 * node; after a failure it is empty. */
int node_unpack(const void *bytes, size_t size, struct node *node, struct gpubind_error *err);

#endif
