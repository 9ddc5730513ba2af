/* One rank on its way to its program: what it knows, and what it does for its node where
 * it leads. */
#ifndef GPUBIND_BIN_RUN_H
#define GPUBIND_BIN_RUN_H

#include "bin/cmds.h"
#include "bin/plugin_plan.h"
#include "host/launch/launcher.h"
#include "host/launch/node_rendezvous.h"
#include "host/mps/mps.h"

struct run {
    const struct options *options;
    enum plugin_plan plugin;
    struct world world;
    struct facts facts;
    struct text remarks, notes;
    struct placement placement;
    struct mps mps;
    bool complete;                       /* ranks that have not come will not come */
    const struct gpubind_error *failure; /* why this rank cannot go on, NULL: it can */
};

/* For struct rendezvous_call, with a struct run as context; see there. */
int run_prepare(void *context, struct gpubind_error *err);
int run_decide(void *context, const struct rendezvous_message *messages, int came,
               struct rendezvous_message *answers, struct gpubind_error *err);
bool run_complete(void *context, int came);
void run_say_failure(void *context, const struct gpubind_error *err);

#endif
