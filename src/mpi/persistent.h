/* Persistent sends and receives, for the library's own use too. */
#ifndef GPUBIND_MPI_PERSISTENT_H
#define GPUBIND_MPI_PERSISTENT_H

#include "mpi/pairs.h"
#include "mpi/pt2pt.h"

/* A request whose other side is made by the same call there: the nth send of a space, to
 * a rank with a tag, meets the nth receive of it. space: 0 is the application's. sure: see
 * cuda/exchange.h, where both sides say so (the first start asks nevertheless); what goes
 * as messages does not need it. NULL with *result and a sentence. */
struct gpubind_operation *persistent_make(const struct arguments *arguments, struct comm *comm,
                                          enum operation_kind kind, int space, bool sure,
                                          int *result, struct gpubind_error *err);
/* Starts n requests; what goes between GPUs of one node is one exchange for each GPU of
 * this rank. engine_wait and request_finish follow. An MPI error class, with a sentence:
 * nothing is started. What fails later, a wait says. */
int persistent_start(struct gpubind_operation *const *requests, int n, struct gpubind_error *err);
/* The same in the order of a stream; none of them is active afterwards. */
int persistent_start_on_stream(struct gpubind_operation *const *requests, int n,
                               struct CUstream_st *stream, struct gpubind_error *err);
/* A message of a start: NULL with *result and a sentence. */
struct gpubind_operation *persistent_message(const struct pair *pair, enum call_kind call,
                                             int *result, struct gpubind_error *err);
/* A stream that a start was put into has gone on without the other side, which is said
 * once: an MPI error class with a sentence. The request is inactive, or NULL. */
int persistent_unsaid(const struct gpubind_operation *request, struct gpubind_error *err);
/* Waits when it is active, or is a message of a stream. What that says. */
int persistent_free(struct gpubind_operation *request, struct gpubind_error *err);

/* All are inactive persistent requests, and are so no more: nobody else starts them. */
int persistent_claim(struct gpubind_operation *const *requests, int n, struct gpubind_error *err);
void persistent_unclaim(struct gpubind_operation *const *requests, int n);

/* For the engine: moves what was set up or started; */
void persistent_progress(void);
bool persistent_busy(void);
/* a thread waits for it: the message that it is at the moment, if it is one; */
struct gpubind_operation *persistent_nudge(struct gpubind_operation *request);
/* its other side is gone. */
void persistent_abandon(struct gpubind_operation *request);

#endif
