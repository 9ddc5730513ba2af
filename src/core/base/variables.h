/* The environment variables that gpubind reads or sets, in one table for the launcher, the
 * plugin and the library. */
#ifndef GPUBIND_CORE_BASE_VARIABLES_H
#define GPUBIND_CORE_BASE_VARIABLES_H

#include <stdbool.h>

#include "core/base/text.h"

/* Whether gpubind has a variable of this name. */
bool variables_known(const char *name);

/* Adds a sentence to text for each variable of env ("NAME=VALUE", ended by NULL; NULL: empty)
 * that has a value and a name like gpubind's, but is none of its variables. Each sentence
 * names the most similar setting where one is similar, and is followed by end. Adds nothing
 * below a launcher or plugin of gpubind, which has said it: GPUBIND_PLAN is set there. */
void variables_note_unknown(char *const *env, const char *end, struct text *text);

#endif
