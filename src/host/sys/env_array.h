/* The environment of a process that is still to start, as execve takes it. */
#ifndef GPUBIND_HOST_SYS_ENV_ARRAY_H
#define GPUBIND_HOST_SYS_ENV_ARRAY_H

#include "core/env/render_env.h"

/* The variable's value, NULL where it is not set. array may be NULL. */
const char *env_array_get(char *const *array, const char *name);

/* Applies the list, all of it or, without memory (-1), nothing. The array
 * and its strings are malloc'ed; *array may be NULL. A list with a name twice is
 * the caller's mistake. */
int env_array_apply(char ***array, const struct env_list *list);

/* Another value for a variable that is set; the array stays where it is. -1: no memory, or the
 * variable is not there. */
int env_array_replace(char **array, const char *name, const char *value);

/* Frees an array and its strings; NULL is allowed. */
void env_array_free(char **array);

#endif
