/* Settings from the environment. Any thread may call this. */
#ifndef GPUBIND_AWARE_SETTING_H
#define GPUBIND_AWARE_SETTING_H

#include <stddef.h>

/* The bytes of a variable in MiB, of at most so many; where it is not set, preset MiB. A bad value is said on
 * stderr, and is as none. known: what was found, -1 before the first call. */
size_t setting_mib(const char *name, int most, int preset, _Atomic int *known);

#endif
