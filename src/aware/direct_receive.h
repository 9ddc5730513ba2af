/* Receives that MPI may give a descriptor of a direct message (direct_send.h). Any thread may call
 * these. */
#ifndef GPUBIND_AWARE_DIRECT_RECEIVE_H
#define GPUBIND_AWARE_DIRECT_RECEIVE_H

#include <mpi.h>
#include <stdbool.h>

#include "aware/staged.h"

/* A receive of count elements may be given one: when it is complete, direct_receive is to be called. */
bool direct_receives(MPI_Count count, MPI_Datatype type);
/* MPI has completed the receive. false: with an ordinary message. Otherwise the message is copied to the
 * application's buffer, *status says how long it is, and *result is an MPI error class. */
bool direct_receive(const struct staged *staged, MPI_Status *status, int *result);
/* It would return true, and not wait for work in the legacy stream. *ordinary: it would return false. */
bool direct_is_ready(const struct staged *staged, bool *ordinary);
/* A probe has found a message: the status of a descriptor gets the length of its message. NULL and
 * MPI_STATUS_IGNORE do nothing. */
void direct_probed(MPI_Comm comm, MPI_Status *status);

#endif
