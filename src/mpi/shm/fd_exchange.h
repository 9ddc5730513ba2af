/* Processes of a node pass each other a file descriptor over Unix sockets in the abstract
 * namespace. This needs no right to trace another process and leaves no files behind, but works
 * only within one network namespace. */
#ifndef GPUBIND_MPI_SHM_FD_EXCHANGE_H
#define GPUBIND_MPI_SHM_FD_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* The address of a process, and the token that its senders must present: only processes that
 * were told it know it. */
struct fd_address {
    uint64_t name, token;
};

/* One of the other processes. */
struct fd_peer {
    struct fd_address address;
    bool takes, gives; /* it wants this process's descriptor; it sends its own */
    int fd;            /* what it sent; -1: nothing */
};

/* Opens a socket, which the caller closes; *address is for the other processes. -1 with a
 * sentence. */
int fd_exchange_open(struct fd_address *address, struct gpubind_error *err);
/* Sends fd to the peers that take it, and receives from those that give. The peers have the same
 * numbers 0 to n - 1 in all processes; me is this one's. 0, or -1 with a sentence: some did not
 * send within ten seconds. The caller closes the descriptors that came, also after a failure. */
int fd_exchange_all(int socket, struct fd_peer *others, int n, int me,
                    const struct fd_address *mine, int fd, struct gpubind_error *err);

#endif
