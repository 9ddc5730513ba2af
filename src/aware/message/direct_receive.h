/* Receives that MPI may give a descriptor of a direct message (direct_send.h). Any thread may call
 * these. */
#ifndef GPUBIND_AWARE_DIRECT_RECEIVE_H
#define GPUBIND_AWARE_DIRECT_RECEIVE_H

#include <mpi.h>
#include <stdbool.h>

#include "aware/base/traced.h"
#include "aware/memory/typed.h"
#include "aware/message/direct_memory.h"
#include "aware/message/staged.h"

/* The bytes of a receive of count elements, if it may be given one: when it is complete, direct_receive is
 * to be called. 0: it may not. later: it is complete after the call. */
MPI_Count direct_receives(MPI_Count count, MPI_Datatype type, bool later);

/* A direct message that has come. */
struct direct_message {
    struct direct_peer *peer;
    struct direct_slot *slot;
    struct typed typed; /* where it is to go */
    void *room;         /* host memory for all that fits there; NULL: there is none */
    MPI_Count nbytes;   /* of it, as many as have room there */
    enum trace_path path;
    bool copying; /* else it has been copied, */
    int result;   /* with this MPI error class */
    struct direct_copy copy;
};

/* MPI has completed the receive. false: with an ordinary message. Otherwise starts to copy the message to
 * the application's buffer. */
bool direct_message_start(struct direct_message *message, const struct staged *staged);
/* Until it is there. An MPI error class; message->nbytes are in the buffer. */
int direct_message_end(struct direct_message *message);
/* Both: MPI has completed the receive. false: with an ordinary message. Otherwise the message is copied to the
 * application's buffer, *status says how long it is, *path how it came, and *result is an MPI error class. */
bool direct_receive(const struct staged *staged, MPI_Status *status, enum trace_path *path,
                    int *result);
/* It would return true. */
bool direct_has_come(const struct staged *staged);
/* And not wait for work in the legacy stream. */
bool direct_is_ready(const struct staged *staged);

/* A probe has found a message: the status, if there is one, of a descriptor gets the length of its message.
 * false: it is an ordinary message, or there is no status, or another thread has received it since. */
bool direct_probed(MPI_Comm comm, MPI_Status *status);
/* Behind that, when it was false: another thread may have received the message, so that the status would have the length
 * of a descriptor. The probe is to look again. */
bool direct_probed_is_gone(MPI_Comm comm, const MPI_Status *status);

#endif
