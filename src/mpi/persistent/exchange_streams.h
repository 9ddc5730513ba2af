/* Where exchanges wait for other ranks.
 *
 * An exchange that waits stops what is queued behind it: in its own stream, and in others
 * where the driver has fewer hardware queues than there are streams. So what one start
 * began must never queue behind what another began: rank 0 may start a receive, then a
 * send, and rank 1 the same, each in calls of their own. A stream for each request would
 * run out of queues. Therefore a GPU has a few tracks, each a stream in which at most one
 * exchange is; what is started while all are taken is patient: a receive says that its
 * buffer is free, the host looks at the words now and then, and what no longer has to
 * wait goes through a track of its own, where nothing waits. */
#ifndef GPUBIND_MPI_PERSISTENT_EXCHANGE_STREAMS_H
#define GPUBIND_MPI_PERSISTENT_EXCHANGE_STREAMS_H

#include "mpi/persistent/channel.h"

/* Starts linked pairs of one GPU, a list by follows, as one exchange; ends their requests
 * in the course of time. */
void tracks_start(struct gpu *gpu, struct pair *pairs);
/* Queues them in a track's stream, in which they end. ready: the receives have said already
 * that their buffers are free. 0, or -1 with a sentence. */
int tracks_queue(struct gpu *gpu, struct CUstream_st *stream, struct pair *pairs, bool ready,
                 struct gpubind_error *err);
/* The same in a stream of the application's, of the GPU's context. Lets go of the library's
 * lock: where the stream is full, the driver waits until others make room. The stream is
 * held meanwhile and until it is through, but not of what it captures. */
int tracks_queue_beside(struct gpu *gpu, struct CUstream_st *stream, bool capturing,
                        struct pair *pairs, struct gpubind_error *err);
/* Frees what it keeps for that. */
void tracks_queue_stop(void);
/* Looks at what is under way. */
void tracks_progress(void);
bool tracks_busy(void);
/* The pair waits for its turn no more. */
void tracks_drop(struct pair *pair);
/* Waits for all that is in streams; they may wait for nobody. */
void tracks_stop(void);

#endif
