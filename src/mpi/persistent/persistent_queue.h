/* Starts that go as messages, in the order of a stream. */
#ifndef GPUBIND_MPI_PERSISTENT_PERSISTENT_QUEUE_H
#define GPUBIND_MPI_PERSISTENT_PERSISTENT_QUEUE_H

#include "mpi/persistent/channel.h"
#include "mpi/stream/stream_queue.h"

/* Messages of one call, by the room that it has for them. */
struct persistent_queue {
    void **starts;
    int n;
};

/* Room for n; 0, or -1 with a sentence. The caller clears. */
int persistent_queue_make(struct persistent_queue *queue, int n, struct gpubind_error *err);
/* Prepares a start of the pair, for a stream that was opened. An MPI error class. */
int persistent_queue_add(struct persistent_queue *queue, struct pair *pair,
                         struct gpubind_error *err);
/* Announces them, but those whose pairs have come to a channel since: they go over that. */
void persistent_queue_announce(struct persistent_queue *queue);
/* Puts what was announced into the stream. An MPI error class. */
int persistent_queue_go(struct persistent_queue *queue, struct stream_queue *stream,
                        enum stream_wait_mode wait, struct gpubind_error *err);
/* What did not go is forgotten. */
void persistent_queue_clear(struct persistent_queue *queue);

#endif
