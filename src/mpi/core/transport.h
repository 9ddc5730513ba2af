/* The transports, by which the data of messages go from one rank to another, in one table. The
 * table itself is in mpi/p2p/transports.c; GPUBIND_PATH restricts those of GPU memory. */
#ifndef GPUBIND_MPI_CORE_TRANSPORT_H
#define GPUBIND_MPI_CORE_TRANSPORT_H

#include <stdbool.h>

#include "core/trace/trace.h"
#include "mpi/base/config.h"

struct domain;
struct gpubind_operation;
struct peer;
struct msg_header;

struct transport {
    const char *name;      /* of the path in gpubind_paths_print */
    enum trace_path trace; /* and of that in a trace, for GPU memory */
    /* GPU memory of this rank can go to the peer and back, as far as it is known before the
     * first message. NULL: the transport is for host memory alone. */
    bool (*reaches)(const struct domain *domain, const struct peer *peer);
    /* Receiver: starts to fetch the data of a receive whose message has come, and ends the receive.
     * false: not by this transport, nothing was begun. The last row declines nothing. */
    bool (*get)(struct gpubind_operation *receive, const struct msg_header *header);
    /* Sender: writes the data where a waiting receive has advertised its buffer, and ends the send.
     * false: there is none. NULL: the transport has no such way. */
    bool (*put)(struct gpubind_operation *send);
    /* Moves what get began, on either side; NULL: get ends it. */
    void (*progress)(void);
    /* Whether progress calls MPI, and has a reason to; NULL: it never calls MPI. */
    bool (*wants_mpi)(void);
};

/* The module that has the table says so, once: TRANSPORTS rows, in the order of enum
 * transport_kind, which is the order of preference. */
void transports_have(const struct transport *table);
const struct transport *transport_row(enum transport_kind kind);
/* Whether GPU memory may go by it, as far as the settings say. */
bool transport_allowed(enum transport_kind kind);
/* It may, and it reaches the peer. */
bool transport_reaches(enum transport_kind kind, const struct domain *domain,
                       const struct peer *peer);
/* The one that GPU memory takes to the peer. */
enum transport_kind transport_to(const struct domain *domain, const struct peer *peer);

#endif
