/* --mps: one MPS server for the ranks of a node that share GPUs. */
#ifndef GPUBIND_HOST_MPS_MPS_H
#define GPUBIND_HOST_MPS_MPS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "host/launch/node_rendezvous.h"
#include "host/launch/placement.h"

struct mps {
    bool runs;      /* the ranks are to use the server at ... */
    char pipe[512]; /* ... this pipe directory ... */
    char log[512];  /* ... with this log directory; "": as it is */
};

/* When one of these n ranks asks for it, starts the server that the node's plan needs,
 * or finds the user's own, and returns once it is up; it ends after the last of them.
 * facts are the ranks' in the order of messages, the leader's first. Sentences for the user are
 * added to notes, those for --verbose to remarks. */
int mps_start(const struct placement *placement, const struct facts *facts,
              const struct rendezvous_message *messages, int n, struct mps *mps, struct text *notes,
              struct text *remarks, struct gpubind_error *err);

#endif
