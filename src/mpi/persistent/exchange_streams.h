/* The library's streams for exchanges that hosts start.
 *
 * An exchange that waits for another rank blocks what is queued behind it: in its own stream,
 * and in other streams where the driver has fewer hardware queues than there are streams.
 * Therefore what one start has begun must never queue behind what another start began: rank 0
 * may start a receive, then a send, and rank 1 the same, each in calls of their own. One
 * stream for each request would exceed the hardware queues. So each GPU has a few exchange
 * streams with at most one exchange in each. What is started while all are in use waits
 * outside: a receive sets its ready flag, the host polls the flags, and channels whose peer
 * has done its part go through an exchange stream of their own, in which nothing waits. */
#ifndef GPUBIND_MPI_PERSISTENT_EXCHANGE_STREAMS_H
#define GPUBIND_MPI_PERSISTENT_EXCHANGE_STREAMS_H

#include "mpi/persistent/channel.h"

/* Starts connected channels of one GPU, a list by list_next, as one exchange. Their requests
 * complete in later steps of progress. */
void exchange_streams_start(struct gpu *gpu, struct channel *channels);
/* Polls the exchanges that are under way, and starts channels that waited. */
void exchange_streams_progress(void);
bool exchange_streams_busy(void);
/* Takes a channel that waits for the peer off its list. */
void exchange_streams_drop(struct channel *channel);
/* Waits for the streams, in which no exchange may wait for a rank any more, and frees them. */
void exchange_streams_stop(void);

/* ---- exchange_batch.c */

/* Queues the channels in a stream as one exchange, of at most so many blocks; 0: the peers are ready, so that none waits,
 * and the receives have set their ready flags already. 0, or -1 with a sentence. */
int exchange_batch_queue(struct gpu *gpu, gpu_stream handle, struct channel *channels,
                         unsigned blocks, struct gpubind_error *err);
/* The same in a stream of the application, in the GPU's context. Releases the library's lock:
 * where the stream is full, the driver waits until other threads make room. Unless it is
 * being captured, the stream counts as held until it has passed the exchange. */
int exchange_batch_queue_unlocked(struct gpu *gpu, gpu_stream handle, bool capturing,
                                  struct channel *channels, struct gpubind_error *err);
/* So many of the wanted blocks may wait in that stream now, beside those that do (waiting_blocks.h). */
unsigned exchange_blocks_left(struct gpu *gpu, gpu_stream stream, unsigned wanted);
/* Of one in a graph, at most. */
unsigned exchange_blocks_in_graph(struct gpu *gpu);
/* Frees the memory that batches are built in. */
void exchange_batch_stop(void);

#endif
