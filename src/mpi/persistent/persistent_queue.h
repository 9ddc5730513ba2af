/* Starts on streams that are messages, because their requests have no channel. */
#ifndef GPUBIND_MPI_PERSISTENT_PERSISTENT_QUEUE_H
#define GPUBIND_MPI_PERSISTENT_PERSISTENT_QUEUE_H

#include "mpi/persistent/channel.h"
#include "mpi/stream/stream_queue.h"

/* The messages of one call, each of which a stream starts. */
struct persistent_queue {
    void **starts;
    int n;
};

/* Makes room for n messages: 0, or -1 with a sentence. persistent_queue_clear frees it. */
int persistent_queue_make(struct persistent_queue *queue, int n, struct gpubind_error *err);
/* Prepares the message of a start; the call's stream is open. An MPI error class. */
int persistent_queue_add(struct persistent_queue *queue, struct channel *channel,
                         struct gpubind_error *err);
/* Announces the messages. Drops those whose channel has been connected since they were added:
 * the caller starts these on the channel (by_message is false). */
void persistent_queue_announce(struct persistent_queue *queue);
/* Puts the announced messages into the stream. An MPI error class. */
int persistent_queue_go(struct persistent_queue *queue, struct stream_queue *stream,
                        enum stream_wait_mode wait, struct gpubind_error *err);
/* Frees the queue, with messages that were not announced. */
void persistent_queue_clear(struct persistent_queue *queue);

#endif
