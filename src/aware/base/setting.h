/* Settings from the environment. Any thread may call this. */
#ifndef GPUBIND_AWARE_SETTING_H
#define GPUBIND_AWARE_SETTING_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of a variable in MiB, of at most so many. false: it is not set, or is no such number, which a sentence
 * on stderr says. known: what was found, SETTING_UNKNOWN before the first call. */
#define SETTING_UNKNOWN (-2)
bool setting_mib(const char *name, int most, _Atomic int *known, size_t *nbytes);

/* A switch, as switch_parse reads it. fallback: where it is not set, or is none, which a sentence on stderr says. known:
 * as above. */
bool setting_switch(const char *name, bool fallback, _Atomic int *known);

#endif
