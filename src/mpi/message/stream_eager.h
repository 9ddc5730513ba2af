/* Small messages on streams, through eager buffers: the sender's stream copies them there, the receiver's from there
 * (stream_direct.h). */
#ifndef GPUBIND_MPI_MESSAGE_STREAM_EAGER_H
#define GPUBIND_MPI_MESSAGE_STREAM_EAGER_H

#include "mpi/core/request.h"
#include "mpi/stream/stream_queue.h"

/* Streams may copy from and to that rank's eager buffers: only page-locked memory's copies come in their order. */
bool stream_eager_is_usable(const struct domain *domain, int local);

/* A send that is announced, with an eager buffer (eager_by_stream): the stream copies its data there, or (holds)
 * at the next quiet. An MPI error class. */
int stream_eager_send(struct gpubind_operation *send, struct stream_queue *stream, bool holds,
                      struct gpubind_error *err);

/* A receive that is to be posted: from now on it is one of host memory, an eager buffer of this rank, and its message
 * can come at any time; a stream that matches it may write to a slot in this GPU's memory instead. Its work is
 * stream_come_ops, which waits for that, and behind it the steps, a copy to the application's buffer, with
 * stream_land_ops. false: there is no eager buffer. */
bool stream_eager_land(struct gpubind_operation *receive, const struct stream_queue *stream,
                       struct stream_steps *steps);
/* The same of a larger one, which is one of a slot's memory then. false: there is no slot. */
bool stream_slot_land(struct gpubind_operation *receive, const struct stream_queue *stream,
                      struct stream_steps *steps);
/* It is one of the application's memory again. */
void stream_unland(struct gpubind_operation *receive);
extern const struct stream_work_ops stream_come_ops, stream_land_ops;

#endif
