/* The other ranks' processes on this node. */
#ifndef GPUBIND_HOST_LAUNCH_SIBLING_RANKS_H
#define GPUBIND_HOST_LAUNCH_SIBLING_RANKS_H

#include <stdbool.h>

/* How many of the launcher's children on this node may still be on their way to
 * gpubind, those that are gpubind counted: they live, and have not loaded an MPI
 * library, as a program that was started without gpubind has. strict: they are
 * gpubind, shells or the like, as when some ranks are known to run something else.
 * -1 when it is not known. daemons: commands of the launcher's processes, ended
 * by NULL. */
int sibling_ranks_coming(const char *const *daemons, bool strict);

#endif
