/* Detects ranks whose processes have ended although others still wait for them: by process ID,
 * where the process is visible from here, whatever transport its messages take. For other processes
 * MPI would have to report it; few implementations do. */
#ifndef GPUBIND_MPI_CORE_PEER_ALIVE_H
#define GPUBIND_MPI_CORE_PEER_ALIVE_H

#include "mpi/core/comm.h"

/* A process, as processes of the same machine and namespace see it. */
struct process {
    int64_t pid;
    uint64_t space; /* of the machine and PID namespace: process IDs compare when it is equal */
};

void process_describe(struct process *mine);
/* Its process ID; 0: it is not visible from here. */
int process_pid(const struct process *mine, const struct process *its);

/* Checks the peer's process now; true: it has ended. */
bool peer_check(struct domain *domain, const struct peer *peer);
/* Checks all processes of this machine; true: one more has ended. */
bool peers_check(void);
/* For receives from any source: a rank of the communicator that is known to be gone and has not
 * been reported by comm_lost_told; when all other ranks are gone, any of them. -1: none. */
int comm_lost_rank(const struct comm *comm);
/* A receive from any source has failed because of that rank: reported. */
void comm_lost_told(struct comm *comm, int rank);
/* A rank that is known to be gone, as numbered in its domain; -1: none. */
int any_lost_rank(void);

#endif
