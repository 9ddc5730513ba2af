/* What the site (MCA parameters) and the job (its environment) ask of the plugin, by
 * the launcher's table of options. */
#ifndef GPUBIND_PLUGIN_SETTINGS_H
#define GPUBIND_PLUGIN_SETTINGS_H

#include "core/base/error.h"
#include "core/base/text.h"
#include "host/launch/options.h"

/* The value of the MCA parameter of each row of the table, NULL where none is set. The
 * strings are the MCA's. */
extern char *settings_parameter[OPTIONS_MAX];

/* Settings of the site alone: no variable of a job's changes what they do for others. */
enum { SITE_EXCLUSIVE, SITE_SETTINGS };
struct site_setting {
    const char *name, *help;
    char *value; /* the MCA's, NULL where it is not set */
};
extern struct site_setting site_settings[SITE_SETTINGS];

/* "gpus-per-rank" -> "gpus_per_rank". */
void settings_parameter_name(const struct option_row *row, char *name, size_t size);

/* The job's environment (may be NULL) over the site's parameters over the defaults.
 * Texts in options point into both. A variable of the job's that cannot be taken fails; a
 * parameter is passed over, with a line in refused. */
int settings_read(char *const *env, struct options *options, struct text *refused,
                  struct gpubind_error *err);

/* The same where the site's parameters of placement lead to no plan: without them, but for
 * those by which a site has jobs refused (overflow, ranks_per_gpu, require_gpu). */
int settings_read_limits(char *const *env, struct options *options, struct gpubind_error *err);

/* The names of the parameters that settings_read_limits leaves out. */
void settings_name_parameters(char *const *env, struct text *text);

/* Whether jobs must not share GPUs. */
bool settings_exclusive(struct text *refused);

/* GPUBIND=off in the job's environment. */
bool settings_off(char *const *env);

#endif
