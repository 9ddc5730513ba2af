/* Messages on streams that the streams pass to each other, without a thread of the library on the way.
 *
 * A small message (up to GPUBIND_EAGER) goes through an eager buffer. The sender's stream copies it there, and goes
 * on; the receiver's waits for the sender's flag, and copies it from there. Where the receive is called first, the
 * eager buffer is the receiver's, and advertised (stream_receive.h); else it is the sender's.
 * A larger one is copied by the stream of the rank whose call is the second, once the other stream has got to its
 * call, and that one goes on when the copy is done.
 * What cannot go so is work of a stream queue, as stream_message.h has it. */
#ifndef GPUBIND_MPI_MESSAGE_STREAM_DIRECT_H
#define GPUBIND_MPI_MESSAGE_STREAM_DIRECT_H

#include "mpi/core/request.h"
#include "mpi/stream/stream_queue.h"

/* Announces or posts the message and puts it into the stream; waits: later work in the stream comes after it. An
 * MPI error class, with a sentence. The operation is the stream's. */
int stream_direct_start(struct gpubind_operation *operation, struct stream_queue *stream,
                        bool waits, struct gpubind_error *err);

#endif
