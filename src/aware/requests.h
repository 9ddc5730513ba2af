/* What is left to do when a request of MPI's completes whose buffers are staged. */
#ifndef GPUBIND_AWARE_REQUESTS_H
#define GPUBIND_AWARE_REQUESTS_H

#include "aware/staged.h"

struct staged_request;

/* Takes over n (1 or 2) staged buffers, which are copied. An MPI error class. */
int requests_add(MPI_Request request, const struct staged *buffers, int n, bool persistent);
/* NULL: its buffers are not staged. To be called before MPI completes the request, since MPI may
 * give its handle to the next one; the pointer is good until requests_complete has ended it. */
struct staged_request *requests_find(MPI_Request request);
/* A persistent request is about to be started. */
int requests_start(struct staged_request *request);
/* It is complete with that status, never MPI_STATUS_IGNORE. ended: MPI has freed it, unless it is
 * persistent; else (a call of MPI_Request_get_status) it is still there. */
int requests_complete(struct staged_request *request, const MPI_Status *status, bool ended);
/* The application frees it. true: it is active, and the caller must leave it to requests_sweep. */
bool requests_free(struct staged_request *request);
/* Ends freed requests that have completed; wait: waits for all of them. */
void requests_sweep(bool wait);

#endif
