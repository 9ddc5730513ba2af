/* Messages that MPI carries: what the calls that send and receive them do before and behind MPI's. */
#ifndef GPUBIND_AWARE_CARRIED_H
#define GPUBIND_AWARE_CARRIED_H

#include <mpi.h>

#include "aware/request/calls.h"

/* The use (enum staged_use) of a buffer of a message to or from a rank. */
#define CARRIED_NOBODY(rank) ((rank) == MPI_PROC_NULL ? STAGED_NOBODY : 0)

/* MPI is about to send a staged buffer. */
void carried_sent(struct traced *call, const struct staged *staged, MPI_Count count,
                  MPI_Datatype type, int dest, int tag, MPI_Comm comm);
/* MPI is about to be given a buffer to receive in by a call that returns before the message has come. */
void carried_receives(struct traced *call, const struct staged *staged, int source, int tag,
                      MPI_Comm comm);
/* The status to give MPI for a receive: own where the application wants none and it will be read. */
MPI_Status *carried_status(const struct traced *call, const struct staged *staged,
                           MPI_Status *status, MPI_Status *own);
/* MPI has returned result for a receive: takes a direct message, or copies the bytes to the GPU, and ends the buffer
 * and the call. Returns the result for the application, behind the error handler. */
int carried_received(struct traced *call, struct staged *staged, int result, MPI_Status *status,
                     MPI_Comm comm);

#endif
