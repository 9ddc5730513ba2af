/* Messages of streams that are being captured into a graph: gpubind_send_on_stream and its like there.
 *
 * Each launch of the graph passes the message again. The nth such send to a rank with a tag and the nth such receive
 * there are counterparts, as those of persistent requests are, and form a channel (channel.h), which connects while
 * nobody waits: the graph has a kernel that waits for that (exchange_deferred.h). Nonblocking calls are put into the
 * graph by the next quiet or blocking call of the stream, all of them as one exchange. */
#ifndef GPUBIND_MPI_PERSISTENT_CAPTURED_H
#define GPUBIND_MPI_PERSISTENT_CAPTURED_H

#include "mpi/message/message.h"

/* The stream is being captured, and no error of it. */
bool captured_stream(gpu_stream stream);
/* An MPI error class with a sentence: the capture goes on without the message. */
int captured_message(const struct arguments *arguments, struct comm *comm, enum request_kind kind,
                     gpu_stream stream, bool waits, struct gpubind_error *err);
/* Both in one exchange, which nonblocking ones before have no part in. */
int captured_sendrecv(const struct arguments *sends, const struct arguments *receives,
                      struct comm *comm, gpu_stream stream, struct gpubind_error *err);
int captured_quiet(gpu_stream stream, struct gpubind_error *err);

#endif
