/* The options of gpubind, from the command line, from GPUBIND_* variables, and from
 * the plugin's MCA parameters. */
#ifndef GPUBIND_HOST_LAUNCH_OPTIONS_H
#define GPUBIND_HOST_LAUNCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/options.h"
#include "core/env/render_env.h"
#include "host/launch/gpu_aware.h"
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
#define ACTIONS (ACTION_VERSION + 1)

struct options {
    enum action action;
    struct rules rules;
    struct prefs prefs;
    uint64_t rules_digest; /* of what all ranks of a node must agree on */
    char rules_given[FACTS_GIVEN];
    uint64_t settings_digest; /* of that and of what the program is to see; 0: all are defaults */
    const char *launcher;
    int timeout_s;
    bool timeout_given; /* it is not the preset */
    int gpu_aware;      /* enum gpu_aware */
    bool mps;
    int report; /* bits of enum report_form */
    bool verbose, quiet;
    /* --plan */
    bool json, cyclic;
    int ranks; /* 0: one a GPU */
    const char *ranks_file, *nodes, *cpuset, *xml;
    char **command; /* of argv, NULL-terminated; empty when there is none */
};

/* Groups of options, as --help shows them. */
enum group { PLACEMENT, PROGRAM, RUNNING, PLANNING, INSTEAD, GROUPS };

/* All options. The mode of a row is a bit 1 << action for each action that it goes with, and
 * OPTION_OF_PLUGIN where it is a setting of the PMIx plugin. */
extern const struct option_table option_table;
#define OPTION_OF_PLUGIN (1 << ACTIONS)

static inline bool option_is_for(const struct option_row *row, enum action action)
{
    return row->modes >> action & 1;
}

static inline bool option_is_plugins(const struct option_row *row)
{
    return row->modes & OPTION_OF_PLUGIN;
}

void options_default(struct options *options);

/* A row's value in some other source, and what to call it in sentences; NULL or ""
 * where it is not set. */
typedef const char *option_getter(const void *context, const struct option_row *row, char *from,
                                  size_t size);

/* Takes what was not given so far and does not contradict what was. values has
 * OPTIONS_MAX entries: the text that each row was given, NULL where it was not. A value that
 * the option does not take fails, or, where refused is not NULL, is passed over with a
 * line there. */
int options_take_rest(struct options *options, const char **values, option_getter *get,
                      const void *context, struct text *refused, struct gpubind_error *err);

/* The row's environment variable: GPUBIND_ and the name in capitals, with _ for -. Actions
 * have none. */
void option_variable(const struct option_row *row, char *name, size_t size);

/* Whether the option of this name was given. */
bool options_given(const char *const *values, const char *name);

/* Of everything given in the groups up to last; 0 when nothing was. */
uint64_t options_digest(const char *const *values, enum group last);

/* The same for sentences: a line for each option, long values cut; empty where there is no room for all. */
void options_say(const char *const *values, enum group last, char *lines, size_t size);

/* Whether a value of GPUBIND switches gpubind off; NULL does not. */
bool option_is_off(const char *value);

/* Refuses options that contradict each other. */
int options_check(const struct options *options, struct gpubind_error *err);

#endif
