/* Whether somebody serves an MPS pipe directory, found out without a word to them. */
#ifndef GPUBIND_HOST_MPS_MPS_PROBE_H
#define GPUBIND_HOST_MPS_MPS_PROBE_H

#include <stdbool.h>

/* The control daemon's pipe is in the directory, and it is not known that the daemon
 * has died. root: see sysroot.h. */
bool mps_is_served(const char *root, const char *directory);

#endif
