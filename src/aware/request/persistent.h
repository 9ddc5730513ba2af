/* Persistent sends whose messages go directly (direct_send.h).
 *
 * MPI's persistent request stays inactive then. Each start makes another request for the message, which
 * takes its place in the calls that complete requests: persistent_stand_in before MPI is called, and
 * persistent_restore afterwards, so that the application keeps its handle. */
#ifndef GPUBIND_AWARE_PERSISTENT_H
#define GPUBIND_AWARE_PERSISTENT_H

#include "aware/message/direct_send.h"
#include "aware/request/requests.h"

/* How MPI sends the descriptor: MPI_Isend, MPI_Issend or MPI_Irsend. An MPI error class. */
typedef int persistent_send(const struct direct_send *send, int dest, int tag, MPI_Comm comm,
                            MPI_Request *request);

/* The request was made, with its buffer staged: its messages go directly where they can. NULL: none does. */
void persistent_may_go_directly(MPI_Request handle, persistent_send *send, int dest, int tag);
/* The communicator is freed: MPI alone may use it from now on. */
void persistent_comm_freed(MPI_Comm comm);

/* A persistent request, taken, is to be started: MPI will read the staged buffer, or the message will go
 * directly. An MPI error class: MPI_ERR_REQUEST where it is active. NULL does nothing. */
int persistent_prepare(struct staged_request *request);
/* It has been prepared, and its message goes directly. */
bool persistent_is_direct(const struct staged_request *request);
/* Starts it. It is put back, whatever the result, which is an MPI error class. */
int persistent_start(struct staged_request *request);
/* It has been prepared, and is not started. It stays taken. NULL does nothing. */
void persistent_abandon(struct staged_request *request);

/* MPI leaves its handle as it is when it completes it. NULL: it does not. */
bool persistent_keeps_handle(const struct staged_request *request);
/* NULL does nothing. */
void persistent_stand_in(const struct staged_request *request, MPI_Request *handle);
void persistent_restore(struct staged_request *request, MPI_Request *handle);
/* What stands in for that request now; the handle itself where nothing does. */
MPI_Request persistent_active(MPI_Request handle);

#endif
