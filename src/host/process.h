/* The processes above this one. */
#ifndef GPUBIND_HOST_PROCESS_H
#define GPUBIND_HOST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/idlist.h"

/* Writes ".PID.START" of the nearest ancestor with this command name (NULL: of
 * the parent), which no later process shares; of the parent when there is none. */
void process_name_ancestor(const char *command, char *text, size_t size);

/* The CPUs that this process may use. */
int process_cpus(struct idset *cpus, struct gpubind_error *err);

/* What a launcher bound this process from: the CPUs of the nearest ancestor whose
 * command is one of the daemons (ends with NULL), else all that the kernel grants. */
int process_cpus_before_binding(const char *const *daemons, struct idset *cpus,
                                struct gpubind_error *err);

#endif
