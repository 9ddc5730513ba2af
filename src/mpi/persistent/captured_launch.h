/* What captured messages (captured.h) are in a graph: launches of a kernel, which wait until the messages' channels are
 * connected; until the graph, and all that were made of it, are gone. */
#ifndef GPUBIND_MPI_PERSISTENT_CAPTURED_LAUNCH_H
#define GPUBIND_MPI_PERSISTENT_CAPTURED_LAUNCH_H

#include "gpu/core/gpu_capture.h"
#include "gpu/exchange/exchange_kernel.h"
#include "mpi/persistent/channel.h"

struct captured_messages {
    struct gpubind_operation *sends[DEFERRED_MESSAGES], *receives[DEFERRED_MESSAGES];
    int nsends, nreceives;
};

/* Puts the messages into the graph as one exchange, and takes them over. Releases the lock meanwhile. capture: the
 * stream's. 0, or -1 with a sentence: they are the caller's still. */
int captured_launch_put(struct captured_messages *messages, gpu_stream stream,
                        const struct gpu_capture *capture, struct gpubind_error *err);
/* Frees their requests. */
void captured_release(struct captured_messages *messages);
/* A new one's channel: somebody may wait for its connection. */
void captured_await(struct channel *channel);
/* The channel is connected, or will not be any more. */
void captured_changed(struct channel *channel);
/* Channels are not connected yet, or graphs are gone. Of any thread, without the lock. */
bool captured_busy(void);
/* Opens what is connected, and frees what graphs had that are gone. */
void captured_progress(void);
/* At the end: waits of graphs whose messages have no other side end. */
void captured_give_up(void);
/* At the library's end: graphs that are not gone are not launched any more. */
void captured_stop(void);

#endif
