/* Messages, before they are received. */
#ifndef GPUBIND_MPI_API_PROBE_API_H
#define GPUBIND_MPI_API_PROBE_API_H

#include "mpi/core/comm.h"
#include "mpi/gpubind.h"

struct looking {
    struct comm *comm;
    int source, tag;
};

/* Describes the message that a receive would take. wait: until there is one. *flag: message
 * was filled. An MPI error class, with a sentence. */
int probe_look(const struct looking *looking, bool wait, int *flag,
               struct gpubind_message *message, struct gpubind_error *err);

#endif
