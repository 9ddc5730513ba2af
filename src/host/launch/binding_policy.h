/* Whether the launcher bound this rank on request or by default. */
#ifndef GPUBIND_HOST_LAUNCH_BINDING_POLICY_H
#define GPUBIND_HOST_LAUNCH_BINDING_POLICY_H

#include <stdbool.h>

#include "core/base/idset.h"
#include "host/launch/launcher.h"
#include "host/sys/process.h"

enum binding_origin {
    BINDING_ASKED,   /* keep to it; also when nothing was bound */
    BINDING_DEFAULT, /* not requested: bind anew, unless the shape of the
                        ranks' bindings shows that something narrowed them since */
    BINDING_FREE,    /* likewise, for a default that may have any shape */
    BINDING_UNKNOWN, /* follows from the shape alone */
};

struct binding_policy {
    enum binding_origin binding;
    bool has_daemon;
    struct process daemon; /* what the launcher could bind from is this one's */
};

/* Reads the environment, the MCA parameter files of Open MPI 4, and for Open MPI 5
 * the command line of prterun, since that leaves no trace in the environment. */
void binding_policy_read(const struct world *world, struct binding_policy *policy);

#endif
