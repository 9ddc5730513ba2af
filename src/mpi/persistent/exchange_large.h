/* Exchanges of more messages than the arguments of a launch have room for, in a stream of the application: they lie in
 * GPU memory, to which the stream copies them first. By several launches some messages would wait for the receivers of
 * others. */
#ifndef GPUBIND_MPI_PERSISTENT_EXCHANGE_LARGE_H
#define GPUBIND_MPI_PERSISTENT_EXCHANGE_LARGE_H

#include "gpu/exchange/exchange.h"

struct exchange_large;

/* With the lock. NULL: it is none, or cannot be one launch. */
struct exchange_large *exchange_large_make(struct gpu *gpu, gpu_stream stream,
                                           const struct exchange_send *sends, int nsends,
                                           const struct exchange_receive *receives, int nreceives,
                                           unsigned blocks);
/* Queues it. Without the lock, as the driver may wait for room in the stream. 0, or -1 with a sentence. */
int exchange_large_queue(struct exchange_large *large, gpu_stream stream,
                         struct gpubind_error *err);
/* With the lock: what it has is freed when the stream has passed it. */
void exchange_large_end(struct exchange_large *large);
/* No stream has one any more. */
void exchange_large_stop(void);

#endif
