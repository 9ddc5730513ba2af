/* What is left to do when a request of MPI's completes whose buffers are staged. */
#ifndef GPUBIND_AWARE_REQUESTS_H
#define GPUBIND_AWARE_REQUESTS_H

#include "aware/staged.h"

struct staged_request;

/* Takes over n (1 or 2) staged buffers, which are copied. An MPI error class. */
int requests_add(MPI_Request request, const struct staged *buffers, int n, bool persistent);
/* NULL: its buffers are not staged. */
struct staged_request *requests_find(MPI_Request request);
/* The same, out of the table, before MPI may complete the request: MPI gives its handle to the next
 * one, perhaps another thread's, at once. Then one of the two below is called. */
struct staged_request *requests_take(MPI_Request request);
/* It is not complete. */
void requests_put_back(struct staged_request *request);
/* It is complete with that status, never MPI_STATUS_IGNORE, and MPI has freed it, unless it is
 * persistent. The status of a direct message gets its length. NULL does nothing. */
int requests_complete(struct staged_request *request, MPI_Status *status);
/* MPI_Request_get_status has found it complete; it is still there. */
int requests_see_complete(struct staged_request *request, MPI_Status *status);
/* A persistent request is about to be started, and has been. NULL does nothing. */
int requests_read(struct staged_request *request);
void requests_started(struct staged_request *request);
/* The application frees it, taken. true: it is active, and the caller must leave it to
 * requests_sweep. */
bool requests_free(struct staged_request *request);
/* Ends freed requests that have completed; wait: waits for all of them. */
void requests_sweep(bool wait);
/* Copies direct messages that have come for receives which nobody has completed yet. false: there are
 * none. */
bool requests_pull(void);
/* There may be such receives. */
bool requests_are_pullable(void);

#endif
