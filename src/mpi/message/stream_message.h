/* Messages as work of a stream queue (struct stream_work_ops of stream_queue.h). */
#ifndef GPUBIND_MPI_MESSAGE_STREAM_MESSAGE_H
#define GPUBIND_MPI_MESSAGE_STREAM_MESSAGE_H

#include "mpi/core/request.h"
#include "mpi/stream/stream_queue.h"

/* Whether the progress thread may move the message: 0, or -1 with a sentence. */
int stream_message_check(const struct gpubind_operation *operation, struct gpubind_error *err);

/* The operations of stream_work_ops; each gets a request. */
void stream_message_start(void *operation);
void stream_message_fail(void *operation);
bool stream_message_is_over(void *operation, int *result, struct gpubind_error *err);
extern const struct stream_work_ops stream_message_ops;
/* It is complete: its result, and its sentence; true, as is_over. Frees it. */
bool stream_message_end(struct gpubind_operation *operation, int *result,
                        struct gpubind_error *err);
/* Completes it with an error that names tag, as the application knows it. */
void stream_message_give_up(struct gpubind_operation *operation, int tag);

/* Of messages that streams pass: the driver has refused what the stream was to do. */
void stream_message_break(void *operation);
/* Sets the flag of the other rank that this stream waits for, if that rank is gone: its process will not have it written
 * any more. */
void stream_message_open_gate(struct gpubind_operation *operation, const struct stream_gate *its);

/* To be called before the message is put into the stream: allocates and page-locks what cannot be
 * had while the stream waits. */
void stream_message_prepare(const struct gpubind_operation *operation);

#endif
