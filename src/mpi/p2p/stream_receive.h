/* Receives in streams that are posted, and advertised to the rank that they wait for: a send in a stream that is
 * called later finds the receive by itself, and its stream writes the data where they are wanted. No thread of
 * the library is between the streams then.
 *
 * The order of matching is MPI's. A send takes the oldest advertised receive that it fits. A receive is advertised
 * only when all receives that were posted before it, and that a message from there might match, are advertised, too;
 * and a send takes one only while all its rank's earlier messages that came otherwise (struct peer's sent and
 * received) have been matched or are unexpected. Another message that matches an advertised receive takes it back
 * first (stream_receive_cancel); what a send has taken is matched already. */
#ifndef GPUBIND_MPI_P2P_STREAM_RECEIVE_H
#define GPUBIND_MPI_P2P_STREAM_RECEIVE_H

#include "mpi/core/request.h"

/* ---- the receiver */

/* Advertises a posted receive whose gate is known, if that can be: its eager buffer, where it has one (landing), or
 * its GPU memory. */
void stream_receive_post(struct gpubind_operation *receive);
/* Takes it back; also where it is not advertised. false: a send has taken it, and is the one that it matches. */
bool stream_receive_cancel(struct gpubind_operation *receive);
/* Completes it when the sender has written the data, or failed to. */
void stream_receive_progress(struct gpubind_operation *receive);
/* Its peer is gone. */
void stream_receive_forget(struct gpubind_operation *receive);
/* The peer's count of received messages has changed, and all of them have been looked at. */
void stream_receives_note(struct peer *peer);

/* ---- the sender */

/* Takes the receive that the send matches, if it is advertised: send->stream_receive. */
bool stream_receive_match(struct gpubind_operation *send);
/* Advertised as before: the send goes another way. */
void stream_receive_reopen(struct gpubind_operation *send);
/* The data are there, or will not be. */
void stream_receive_end(struct gpubind_operation *send, bool good);

#endif
