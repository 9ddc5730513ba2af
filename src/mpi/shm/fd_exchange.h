/* Processes of a node give each other a file descriptor, over sockets with names in the
 * abstract namespace. That needs no right to trace another process and leaves nothing
 * behind; processes in different network namespaces do not find each other so. */
#ifndef GPUBIND_MPI_SHM_FD_EXCHANGE_H
#define GPUBIND_MPI_SHM_FD_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* How a process is found, and what it must be told: known to those alone that its owner
 * shows it to. */
struct fd_address {
    uint64_t name, token;
};

/* One of the others. */
struct fd_peer {
    struct fd_address address;
    bool takes, gives; /* a descriptor, or wants mine */
    int fd;            /* what it gave; -1: nothing */
};

/* A socket, *address what the others need. -1 with a sentence. The caller closes it. */
int fd_exchange_open(struct fd_address *address, struct gpubind_error *err);
/* Gives mine (fd) to those that take one, and waits for those that give one: n others, whose
 * numbers all agree on, mine me. 0, or -1 with a sentence: some are missing, or did not
 * come within ten seconds. Descriptors that came are the caller's to close in any case. */
int fd_exchange_all(int socket, struct fd_peer *others, int n, int me,
                    const struct fd_address *mine, int fd, struct gpubind_error *err);

#endif
