/* What the functions that take buffers share. */
#ifndef GPUBIND_AWARE_CALLS_H
#define GPUBIND_AWARE_CALLS_H

#include <mpi.h>

#include "aware/base/next.h"
#include "aware/base/traced.h"
#include "aware/base/undo.h"
#include "aware/message/direct_memory.h"
#include "aware/message/direct_receive.h"
#include "aware/message/direct_send.h"
#include "aware/message/progress.h"
#include "aware/message/staged.h"
#include "aware/request/requests.h"

/* Calls the communicator's error handler, if it has one. Returns result. */
int call_refused(MPI_Comm comm, int result);
/* MPI has completed a request of that communicator with result; error: of a copy to the GPU, or of a direct
 * message. */
int call_completed(int result, int error, MPI_Comm comm);
/* How MPI was given a buffer. */
static inline enum trace_path call_path(const struct staged *staged)
{
    return staged->staged ? TRACE_STAGED : TRACE_PLAIN;
}
/* A call with n staged buffers has ended with result: copies what it wrote, and ends them and the call, which
 * may be NULL. */
int call_ended(struct traced *call, struct staged *buffers, int n, int result, MPI_Comm comm);
/* A call with n staged buffers has made a request: they and the call are ended with it. */
int call_started(struct traced *call, struct staged *buffers, int n, int result,
                 MPI_Request request, bool persistent, MPI_Comm comm);

/* A call that waits: while direct messages are under way it is to test instead, again and again, and these functions
 * look after the messages in between. */
struct call_waiting {
    struct undo undo;
    unsigned tests;
};
void call_waiting_begin(struct call_waiting *waiting);
/* false: none is under way. */
bool call_is_to_test(struct call_waiting *waiting);
void call_waiting_end(struct call_waiting *waiting);
/* Returns when the direct message's buffer may be used again. */
void call_wait_for(struct direct_send *send);
/* And when MPI has sent the descriptor. */
void call_wait_for_both(struct direct_send *send, MPI_Request *descriptor);
/* Gives MPI the descriptor, and returns its result. *send is NULL afterwards if an error handler has run: the message is
 * abandoned. */
#define CALL_SENDING(send, call)                  \
    __extension__({                               \
        struct undo undo;                         \
        int result_of_sending;                    \
                                                  \
        undo_begin(&undo, call_abandon, send);    \
        result_of_sending = (call);               \
        (send) = undo_end(&undo) ? NULL : (send); \
        result_of_sending;                        \
    })
void call_abandon(void *send, int code);
/* A blocking call, or one with a request, has given MPI the descriptor, with result. NULL does nothing. */
int call_sent(struct direct_send *send, int result);
int call_sends(struct direct_send *send, int result, MPI_Request descriptor, MPI_Request *request,
               MPI_Comm comm);

#endif
