/* From the texts that somebody gave to struct options, by the table. */
#ifndef GPUBIND_HOST_LAUNCH_OPTION_PARSE_H
#define GPUBIND_HOST_LAUNCH_OPTION_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "host/launch/option_table.h"

void options_default(struct options *options);

/* Takes one value; NULL for an option without argument. from is where it came from,
 * for sentences: "--map", "GPUBIND_MAP". Texts are pointed to, not copied. A failure leaves
 * options as they were. */
int option_take(struct options *options, const struct row *row, const char *value,
                const char *from, struct gpubind_error *err);

/* Reads "1", "yes", "on" and the like as 1, their opposites as 0. */
int option_flag(const char *value, const char *from, int *number, struct gpubind_error *err);

/* A row's value in some other source, and what to call it in sentences; NULL or ""
 * where it is not set. */
typedef const char *option_getter(const void *context, const struct row *row, char *from,
                                  size_t size);

/* Takes what was not given so far and does not contradict what was. values has
 * OPTION_MAX entries: the text that each row was given, NULL where it was not. A value that
 * the option does not take fails, or, where refused is not NULL, is passed over with a
 * line there. */
int options_take_rest(struct options *options, const char **values, option_getter *get,
                      const void *context, struct text *refused, struct gpubind_error *err);

/* The row's environment variable: "GPUBIND_MAP". */
void option_variable(const struct row *row, char *name, size_t size);

/* Of everything given in the groups up to last; 0 when nothing was. */
uint64_t options_digest(const char *const *values, enum group last);

/* Whether a value of GPUBIND asks for nothing to be done; NULL does not. */
bool option_is_off(const char *value);

/* What no two options may ask together. */
int options_check(const struct options *options, struct gpubind_error *err);

#endif
