/* What is left to do when a request of MPI's completes whose buffers are staged. */
#ifndef GPUBIND_AWARE_REQUESTS_H
#define GPUBIND_AWARE_REQUESTS_H

#include "aware/staged.h"

/* true: no request has staged buffers, and the functions that end requests need not look. */
bool requests_are_plain(void);
/* Takes over n (1 or 2) staged buffers, which are copied. An MPI error class. */
int requests_add(MPI_Request request, const struct staged *buffers, int n, bool persistent);
/* A persistent request is about to be started. */
int requests_start(MPI_Request request);
/* The request, by the value that its handle had, is complete, with that status (never
 * MPI_STATUS_IGNORE). ended: MPI has freed it, unless it is persistent; else (a call of
 * MPI_Request_get_status) it is still there. */
int requests_complete(MPI_Request request, const MPI_Status *status, bool ended);
/* The application frees it. true: it is active, and the caller must leave it to requests_sweep. */
bool requests_free(MPI_Request request);
/* Ends freed requests that have completed. */
void requests_sweep(void);

#endif
