/* The command that gpubind becomes. */
#ifndef GPUBIND_BIN_PROGRAM_H
#define GPUBIND_BIN_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "core/base/error.h"

/* 0 when exec can be expected to find the command, as it is or in PATH, and where; else the
 * exit status, 126 or 127, and a sentence. path is empty where exec uses a PATH of its own. */
int program_find(const char *command, char path[PATH_MAX], struct gpubind_error *err);

/* The exit status and the sentence for an errno of exec. */
int program_refusal(const char *command, int error, struct gpubind_error *err);

/* Whether the command is one that starts ranks, with or without a folder. */
bool program_is_launcher(const char *command);

#endif
