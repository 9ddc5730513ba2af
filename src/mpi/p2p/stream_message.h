/* What a stream does to a message that was prepared for it, and started. */
#ifndef GPUBIND_MPI_P2P_STREAM_MESSAGE_H
#define GPUBIND_MPI_P2P_STREAM_MESSAGE_H

#include "mpi/core/request.h"
#include "mpi/stream/stream_queue.h"

/* The message may be moved by the library's thread: 0, or -1 with a sentence. For a stream
 * that was opened. */
int stream_message_check(const struct gpubind_operation *operation, struct gpubind_error *err);

/* Verbs, as stream_queue.h says, of an operation. */
void stream_message_start(void *operation);
void stream_message_fail(void *operation);
bool stream_message_is_over(void *operation, int *result, struct gpubind_error *err);
extern const struct stream_work_ops stream_message_ops;
/* tag: as the application has it. */
void stream_message_give_up(struct gpubind_operation *operation, int tag);

/* Has what the message may need when the stream waits, and cannot be had then: before it is put
 * into the stream. */
void stream_message_prepare(const struct gpubind_operation *operation);

#endif
