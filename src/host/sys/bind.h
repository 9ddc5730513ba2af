/* Binding of this process; what exec starts inherits it. */
#ifndef GPUBIND_HOST_SYS_BIND_H
#define GPUBIND_HOST_SYS_BIND_H

#include <stdbool.h>

#include "core/base/idset.h"

/* Both return -1 with errno. Memory is preferred, not enforced: a program that
 * needs more than these nodes have gets it elsewhere. */
int bind_cpus(const struct idset *cpus);
int bind_memory(const struct idset *nodes);

/* Whether this process has a memory policy already. */
bool bind_has_memory_policy(void);

/* The nodes that this process prefers or is bound to; empty without a policy. */
int bind_read_memory(struct idset *nodes);

#endif
