/* Which ranks are gone: their processes have ended although others still expect them. Seen of
 * processes that are visible from here, by their process ID, in whichever way messages go; of
 * others MPI has to say it, which few do. */
#ifndef GPUBIND_MPI_CORE_PEER_ALIVE_H
#define GPUBIND_MPI_CORE_PEER_ALIVE_H

#include "mpi/core/comm.h"

/* A process as others see it, where they do. */
struct process {
    int64_t pid;
    uint64_t space; /* process IDs of one machine and namespace compare */
};

void process_describe(struct process *mine);
/* Its process ID; 0: it cannot be seen. */
int process_pid(const struct process *mine, const struct process *its);

/* Looks. */
bool peer_look(struct domain *domain, const struct peer *peer);
/* Looks at all processes of this machine. true: one more is gone. */
bool peers_look(void);
/* The number in the communicator of a rank that is known to be gone, and of which no wait for a
 * message from any rank has told; when all others are gone, of one of them. -1: none. */
int comm_lost_rank(const struct comm *comm);
/* That was told. */
void comm_lost_told(struct comm *comm, int rank);
/* A rank that is known to be gone, in any domain's numbers; -1: none. */
int any_lost_rank(void);

#endif
