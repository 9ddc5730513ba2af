/* The gates of other ranks' streams (struct stream_gate), as the CPU opens them and sees them written. */
#ifndef GPUBIND_MPI_CORE_GATE_H
#define GPUBIND_MPI_CORE_GATE_H

#include "mpi/core/domain.h"

/* That rank's stream has got to the call. false where that cannot be seen. */
bool gate_has_come(const struct domain *domain, int local, const struct stream_gate *gate);
/* Its stream goes on, if it waits for that. Before its process is told that the call is over: it may use the flag for
 * another call then. */
void gate_let_go(const struct domain *domain, int local, const struct stream_gate *gate);

#endif
