/* The other ranks' processes on this node. */
#ifndef GPUBIND_HOST_SIBLINGS_H
#define GPUBIND_HOST_SIBLINGS_H

/* How many of the launcher's children on this node may still be on their way to
 * gpubind, those that are gpubind counted: they live, and have not loaded an MPI
 * library, as a program that was started without gpubind has. -1 when it cannot
 * be told. daemons: commands of the launcher's processes, ended by NULL. */
int siblings_before_mpi(const char *const *daemons);

#endif
