/* A send on a stream whose receive is advertised by another rank's (stream_receive.h): the stream puts its data there. */
#ifndef GPUBIND_MPI_MESSAGE_STREAM_MATCH_H
#define GPUBIND_MPI_MESSAGE_STREAM_MATCH_H

#include "mpi/core/request.h"
#include "mpi/stream/stream_queue.h"

/* Matches it, and fills in what the stream does, as work with stream_match_ops. false: it matches none that the stream
 * can write to. */
bool stream_match(struct gpubind_operation *send, const struct stream_queue *stream,
                  struct stream_steps *steps);
extern const struct stream_work_ops stream_match_ops;

#endif
