/* What can be asked of gpubind, whoever asks and however: the command line, the
 * GPUBIND_* environment, the plugin's MCA parameters. */
#ifndef GPUBIND_HOST_LAUNCH_OPTIONS_H
#define GPUBIND_HOST_LAUNCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/env/render_env.h"
#include "host/launch/placement.h"

enum action {
    ACTION_RUN,
    ACTION_PLAN,
    ACTION_LIST,
    ACTION_CHECK,
    ACTION_PLUGIN,
    ACTION_DOCTOR,
    ACTION_HELP,
    ACTION_VERSION
};

struct options {
    enum action action;
    struct rules rules;
    struct prefs prefs;
    uint64_t rules_digest; /* of what all ranks of a node must agree on */
    uint64_t wishes_digest; /* of that and of what the program is to see; 0: nothing asked */
    const char *launcher;
    int timeout_s;
    bool mps;
    bool report, verbose, quiet;
    /* --plan */
    bool json, cyclic;
    int ranks; /* 0: one a GPU */
    const char *ranks_file, *nodes, *cpuset, *xml;
    char **command; /* of argv, NULL-terminated; empty when there is none */
};

#endif
