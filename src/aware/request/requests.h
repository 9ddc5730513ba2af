/* What is left to do when a request of MPI's completes whose buffers are staged. */
#ifndef GPUBIND_AWARE_REQUESTS_H
#define GPUBIND_AWARE_REQUESTS_H

#include "aware/base/traced.h"
#include "aware/message/staged.h"

struct staged_request;

/* Takes over a call (NULL: it is not traced), and n (1 or 2) staged buffers, which are copied. An MPI error class. */
int requests_add(MPI_Request request, const struct traced *call, const struct staged *buffers,
                 int n, bool persistent, MPI_Comm comm);
/* Takes over a creation that has begun (creations.h), which ends with the request. false: out of memory. */
bool requests_add_creation(MPI_Request request, MPI_Comm comm);
/* Its buffers are staged, or a direct message may come for it, or it is traced. */
bool requests_has(MPI_Request request);
/* The buffer of an active request whose parts are partitions, and its communicator; NULL: it is none. It
 * is there until the request is complete. */
const struct staged *requests_partitions(MPI_Request request, MPI_Comm *comm);
/* NULL: neither. Otherwise it is taken out of the table, before MPI may complete the request: MPI gives its
 * handle to the next one, perhaps another thread's, at once. Then one of those below is called. */
struct staged_request *requests_take(MPI_Request request);
/* The same without taking it out of the table, to look at it: others wait until requests_release. NULL: it is in no
 * table. false: another thread has it, ask again. */
bool requests_claim(MPI_Request handle, struct staged_request **request);
void requests_release(struct staged_request *request);
/* It is not complete. */
void requests_put_back(struct staged_request *request);
/* The communicator of its call; MPI_COMM_SELF: request is NULL. */
MPI_Comm requests_comm(const struct staged_request *request);
/* false: of NULL, too. */
bool requests_is_persistent(const struct staged_request *request);
/* It is complete with that status, never MPI_STATUS_IGNORE, and handle is what MPI has left of its handle:
 * MPI_REQUEST_NULL unless it is persistent. The status of a direct message gets its length. NULL does
 * nothing. */
int requests_complete(struct staged_request *request, MPI_Request handle, MPI_Status *status);
/* The same after MPI_Request_get_status. It stays claimed. */
int requests_see_complete(struct staged_request *request, MPI_Status *status);
/* A persistent request, taken, is about to be started, and then has been (started), or not; handle: Open MPI
 * may have changed it, while it still sends what was buffered. NULL does nothing. */
int requests_read(struct staged_request *request);
void requests_started(struct staged_request *request, MPI_Request handle, bool started);
/* For each request in the table, which is locked. */
void requests_for_each(void (*visit)(struct staged_request *request, const void *argument),
                       const void *argument);
/* The application frees the communicator, whose handle another one may get: errors of its requests are told to
 * MPI_COMM_SELF. */
void requests_comm_freed(MPI_Comm comm);
/* What stands in for a persistent request (persistent.h), or the handle itself. */
MPI_Request requests_standing_in(MPI_Request handle);
/* The application frees it, taken. true: it is active, and the caller must leave it to
 * requests_sweep. */
bool requests_free(struct staged_request *request);
/* Ends freed requests that have completed; wait: waits for all of them. */
void requests_sweep(bool wait);
/* MPI has synchronised a window: what one-sided calls with requests have got is there before anybody
 * completes the requests. An MPI error class. */
int requests_synchronised(void);

#endif
