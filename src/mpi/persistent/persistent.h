/* Persistent sends and receives, for the library's own use too. */
#ifndef GPUBIND_MPI_PERSISTENT_PERSISTENT_H
#define GPUBIND_MPI_PERSISTENT_PERSISTENT_H

#include "mpi/base/modules.h"
#include "mpi/message/message.h"
#include "mpi/persistent/channel.h"

/* Sets up a request. PERSISTENT_HALO: on a communicator of the library's own where the nth
 * send to a rank with a tag and the nth receive there are counterparts; it connects at once,
 * and is not started before persistent_await. PERSISTENT_CAPTURE: the same among the calls in captures, and it is
 * never started (captured.h). no_handshake: the callers of both sides
 * guarantee that the receive buffer is free at every start but the first; messages do not
 * need it. NULL with *result and a sentence. */
struct gpubind_operation *persistent_make(const struct arguments *arguments, struct comm *comm,
                                          enum request_kind kind, enum persistent_use use,
                                          bool no_handshake, int *result,
                                          struct gpubind_error *err);
/* Waits until each internal request is connected, or will not be, and the peers need no
 * progress of this rank for that. 0, or -1 with a sentence. */
int persistent_await(struct gpubind_operation *const *requests, int n, struct gpubind_error *err);
/* Starts n requests: those on channels as one exchange for each GPU of this rank, the others
 * as messages. progress_wait and request_finish follow, which return what fails later. An MPI
 * error class with a sentence: none is started. */
int persistent_start(struct gpubind_operation *const *requests, int n, struct gpubind_error *err);
/* The same in the order of a stream; none of them is active afterwards. */
int persistent_start_on_stream(struct gpubind_operation *const *requests, int n, gpu_stream stream,
                               struct gpubind_error *err);
/* Returns once that a stream's wait for the peer was broken: an MPI error class with a
 * sentence. The request is inactive, or NULL. */
int persistent_take_error(const struct gpubind_operation *request, struct gpubind_error *err);
/* Frees the request, an active one after its end. Returns what persistent_take_error does. */
int persistent_free(struct gpubind_operation *request, struct gpubind_error *err);

/* Makes n inactive persistent requests active, so that no other thread starts them. An MPI
 * error class with a sentence: one of them is not; none is claimed. */
int persistent_claim(struct gpubind_operation *const *requests, int n, struct gpubind_error *err);
void persistent_unclaim(struct gpubind_operation *const *requests, int n);
/* Completes the request if its message is complete. Returns the message while there is one. */
struct gpubind_operation *persistent_nudge(struct gpubind_operation *request);

/* ---- for the files of this folder */

/* The next start goes over the channel. */
bool persistent_has_channel(struct channel *channel);
/* Prepares the message of a start: NULL with *result and a sentence. */
struct gpubind_operation *persistent_message(const struct channel *channel, enum call_kind call,
                                             int *result, struct gpubind_error *err);
/* Starts the request as a message of the host. */
void persistent_start_message(struct channel *channel);
/* The channel is connected: a receive that the host has posted continues on it. */
void persistent_move_to_channel(struct channel *channel);

extern const struct module persistent_module;
extern const struct request_ops persistent_ops;

#endif
