/* The launcher that started this process, and the rank that it is. */
#ifndef GPUBIND_HOST_LAUNCH_LAUNCHER_H
#define GPUBIND_HOST_LAUNCH_LAUNCHER_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/text.h"

struct world {
    const char *launcher;       /* "openmpi", ..., "none" */
    int rank, size;             /* in the job; size 0: not known */
    int local, local_size;      /* on the node; local_size 0: not known */
    bool unnumbered;            /* local is not known: the ranks' order decides */
    char job[512];              /* names job and step on this node */
    bool mixed;                 /* other ranks of the job may run another command */
    const char *const *daemons; /* commands that start ranks, ended by NULL */
};

/* Reads the environment. forced is a launcher's name, "auto" for the one that is
 * recognised, "none" for a single process. Sentences that are worth saying with
 * --verbose are added to remarks, those worth saying always to notes. Fails on
 * variables that contradict each other, and names them. */
int launcher_read(const char *forced, struct world *world, struct text *remarks, struct text *notes,
                  struct gpubind_error *err);

/* "openmpi|hydra|...", for help and errors. */
void launcher_names(struct text *text);
bool launcher_known(const char *name);

#endif
