/* The command line and the GPUBIND_* environment, by one table. */
#ifndef GPUBIND_BIN_OPTIONS_H
#define GPUBIND_BIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/render_env.h"
#include "core/text.h"
#include "host/placement.h"

enum action { ACTION_RUN, ACTION_PLAN, ACTION_CHECK, ACTION_HELP, ACTION_VERSION };

struct options {
    enum action action;
    struct rules rules;
    struct prefs prefs;
    uint64_t rules_digest; /* of what all ranks of a node must agree on */
    const char *launcher;
    int timeout_s;
    bool report, verbose, quiet;
    /* --plan */
    bool json, cyclic;
    int ranks; /* 0: one a GPU */
    const char *ranks_file, *nodes, *cpuset;
    char **command; /* of argv, NULL-terminated; empty when there is none */
};

/* Option over environment over default. Strings point into argv and environ. */
int options_read(int argc, char **argv, struct options *options, struct gpubind_error *err);

/* The text of --help. */
void options_help(struct text *text);

#endif
