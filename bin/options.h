/* The command line and the GPUBIND_* environment, by one table. */
#ifndef GPUBIND_BIN_OPTIONS_H
#define GPUBIND_BIN_OPTIONS_H

#include "core/base/error.h"
#include "core/base/text.h"
#include "host/launch/options.h"

/* An option overrides the environment, which overrides the default. Strings point into argv and
 * environ. */
int options_read(int argc, char **argv, struct options *options, struct gpubind_error *err);

/* After the sentence, in parentheses, which options that it names have their values of variables. */
void options_name_variables(const char *sentence, struct text *text);

/* The text of --help. */
void options_help(struct text *text);

#endif
