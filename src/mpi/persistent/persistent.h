/* Persistent sends and receives, for the library's own use too. */
#ifndef GPUBIND_MPI_PERSISTENT_PERSISTENT_H
#define GPUBIND_MPI_PERSISTENT_PERSISTENT_H

#include "mpi/core/modules.h"
#include "mpi/p2p/message.h"
#include "mpi/persistent/channel.h"

/* internal: the request is the library's own, on a communicator of its own where the nth
 * send to a rank with a tag and the nth receive there are made for each other; they connect
 * at once, and are not started before persistent_await. sure: see gpu/exchange/exchange.h, where both
 * sides say so (the first start asks nevertheless); what goes as messages does not need it.
 * NULL with *result and a sentence. */
struct gpubind_operation *persistent_make(const struct arguments *arguments, struct comm *comm,
                                          enum operation_kind kind, bool internal, bool sure,
                                          int *result, struct gpubind_error *err);
/* Until the internal requests are connected, or known not to be, and the other sides need
 * this one no more for that. 0, or -1 with a sentence. */
int persistent_await(struct gpubind_operation *const *requests, int n, struct gpubind_error *err);
/* Starts n requests: those on channels as one exchange for each GPU of this rank, the others
 * as messages. progress_wait and request_finish follow. An MPI error class, with a sentence:
 * nothing is started. What fails later, a wait says. */
int persistent_start(struct gpubind_operation *const *requests, int n, struct gpubind_error *err);
/* The same in the order of a stream; none of them is active afterwards. */
int persistent_start_on_stream(struct gpubind_operation *const *requests, int n,
                               struct CUstream_st *stream, struct gpubind_error *err);
/* A stream that a start was put into has gone on without the other side, which is said
 * once: an MPI error class with a sentence. The request is inactive, or NULL. */
int persistent_unsaid(const struct gpubind_operation *request, struct gpubind_error *err);
/* When it is active, it is freed after its end. What persistent_unsaid says. */
int persistent_free(struct gpubind_operation *request, struct gpubind_error *err);

/* All are inactive persistent requests, and are so no more: nobody else starts them. */
int persistent_claim(struct gpubind_operation *const *requests, int n, struct gpubind_error *err);
void persistent_unclaim(struct gpubind_operation *const *requests, int n);

/* ---- for the files of persistent requests */

/* The next start goes over the channel. */
bool persistent_has_channel(struct pair *pair);
/* A message of a start: NULL with *result and a sentence. */
struct gpubind_operation *persistent_message(const struct pair *pair, enum call_kind call,
                                             int *result, struct gpubind_error *err);
/* The channel is there: a receive that is posted goes over it. */
void persistent_move(struct pair *pair);

/* The message that the request is started as; NULL where that is over, or there is none. */
struct gpubind_operation *persistent_nudge(struct gpubind_operation *request);

extern const struct module persistent_module;
extern const struct operation_ops persistent_ops;

#endif
