/* The plan that the PMIx plugin may have made before gpubind was started as a rank. */
#ifndef GPUBIND_BIN_PLUGIN_PLAN_H
#define GPUBIND_BIN_PLUGIN_PLAN_H

#include <stdbool.h>

#include "bin/options.h"
#include "core/base/error.h"
#include "host/launch/placement.h"

enum plugin_plan {
    PLUGIN_NONE,    /* no plan, or one that was inherited from another rank's environment */
    PLUGIN_KEPT,    /* gpubind got no other settings */
    PLUGIN_REPLACED /* other settings were given */
};

enum plugin_plan plugin_plan_state(const struct options *options);

/* Another plan is made. What the plugin replaced in this rank's environment is put
 * back; another rank's leftovers just go. */
void plugin_plan_forget(enum plugin_plan plan);

/* Reads the rank's GPUs and role from the environment, for the table. */
int plugin_plan_read(struct facts *facts, struct gpubind_error *err);

#endif
