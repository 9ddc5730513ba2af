/* Messages whose data the receiver copies from GPU memory of this process: MPI carries a descriptor
 * (direct_segment.h). Where the receiver does not come, the data is copied to host memory, and the send
 * completes; so it depends on no call of the receiver's. Any thread may call these. */
#ifndef GPUBIND_AWARE_DIRECT_SEND_H
#define GPUBIND_AWARE_DIRECT_SEND_H

#include "aware/memory/typed.h"
#include "aware/message/direct_segment.h"

/* The least and the step of the lengths of descriptors: not those of usual messages. */
#define DIRECT_LENGTH 1552
#define DIRECT_LENGTH_STEP 32
#define DIRECT_LENGTH_MOST (DIRECT_LENGTH + (DIRECT_SLOTS - 1) * DIRECT_LENGTH_STEP)
_Static_assert(DIRECT_LENGTH % TYPED_UNIT == 0 && DIRECT_LENGTH_STEP % TYPED_UNIT == 0,
               "a descriptor ends behind a whole element");
/* The data of a message that is not small overwrites all of the descriptor. */
_Static_assert(DIRECT_LENGTH_MOST <= DIRECT_SMALL_ROOM, "a descriptor is shorter than its data");

struct direct_descriptor {
    uint64_t magic[2], nonce; /* nonce: the sender's segment's */
    int32_t rank;             /* the sender's of MPI_COMM_WORLD */
    uint32_t slot, sequence, spare;
};

extern const uint64_t direct_magic[2];

/* The slot whose descriptors have that length; -1: none has. */
int direct_slot_of_length(MPI_Count nbytes);

struct traced;
struct direct_send {
    const void *descriptor; /* for MPI, which is given length bytes of MPI_BYTE */
    int length;
};

/* A message of count elements. NULL: it is to go through MPI. Otherwise MPI is given the descriptor, and
 * then one of the next three is called. call: the application's, under way; directly: not in a mode in which MPI is
 * to buffer the data. A message that is as long as a descriptor under way goes by a shorter one in every mode, so
 * that no probe takes it for that one. */
struct direct_send *direct_send_begin(const struct traced *call, bool directly, const void *buf,
                                      MPI_Count count, MPI_Datatype type, int dest, int tag,
                                      MPI_Comm comm);
/* MPI has refused the descriptor. */
void direct_send_abandon(struct direct_send *send);
/* MPI has sent it. true: the buffer may be used again, and send is gone; else it is to be called again.
 */
bool direct_send_end(struct direct_send *send);
/* MPI has returned a request for it: *request is for the application, and completes when the buffer may
 * be used again and MPI's has completed. An MPI error class. */
int direct_send_later(struct direct_send *send, MPI_Request descriptor, MPI_Request *request);

/* The application frees a request, which may be one of direct_send_later: a message that it may take for
 * sent, since it is short, is buffered. */
void direct_send_freed(MPI_Request request);
/* Completes requests of direct_send_later. */
void direct_sends_poll(void);
/* How many are not complete. */
int direct_sends_pending(void);
/* The process sends so many elements through MPI: slots whose descriptors are as long are used no more, for the
 * same reason. */
void direct_send_plain(MPI_Count count, MPI_Datatype type);
/* Completes all, and waits until the receivers have what is buffered, or have ended. */
void direct_sends_end(void);

#endif
