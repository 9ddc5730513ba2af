/* Copies between memory of another process of the node and host memory of this one, done by that process's
 * thread (outgoing.h), where this process cannot map the memory. Any thread may call these. */
#ifndef GPUBIND_AWARE_DIRECT_ASK_H
#define GPUBIND_AWARE_DIRECT_ASK_H

#include "aware/message/direct_segment.h"

/* Copies nbytes to (or from) an address of the peer's process, and returns when they are there. -1: it has
 * ended, or cannot; a sentence on stderr says so. */
int direct_ask_copy(const struct direct_peer *peer, uint64_t address, void *host, size_t nbytes,
                    bool to_peer);
/* Says on stderr that the peer's memory could not be copied. */
void direct_ask_refuse(const struct direct_peer *peer);
/* In the thread of this process: does what others have asked for. */
void direct_ask_serve(struct direct_segment *own);

#endif
