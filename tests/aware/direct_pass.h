/* One message of a pair of ranks, in every way in which MPI sends and receives. */
#ifndef GPUBIND_TESTS_AWARE_DIRECT_PASS_H
#define GPUBIND_TESTS_AWARE_DIRECT_PASS_H

#include "tests/aware/direct.h"

enum send {
    SEND,
    SSEND,
    RSEND,
    BSEND,
    SENDRECV,
    REPLACE,
    ISEND,
    ISSEND,
    IRSEND,
    IBSEND,
    SEND_INIT,
    SSEND_INIT,
    RSEND_INIT,
    BSEND_INIT,
    SENDS
};
enum receive { RECV, SENDRECV_IN, IRECV, RECV_INIT, PROBE, IPROBE, MPROBE, IMPROBE, RECEIVES };
enum when {
    AT_ONCE,
    POSTED,
    LATE,
    LATER,
    WHENS
}; /* the receive: nobody waits, before the send, ... */
enum after { OVERWRITTEN, FREED, READ, AFTERS }; /* the sender's buffer, once it may */

struct message {
    enum send send;
    enum receive receive;
    enum when when;
    enum after after;
    enum memory from, to;
    enum shape out, in;
    MPI_Datatype element;
    size_t n, more; /* elements; the receive's buffer has room for more */
    uint64_t seed;
    bool any_source, any_tag;
    int completed_out, completed_in; /* how */
};

const char *send_name(enum send send);
const char *receive_name(enum receive receive);
/* All but the members that say how it is sent and received, and of which memory. */
void draw_message(struct message *message);
/* Of every pair of ranks, one way or the other. */
void pass(struct message *message);
/* What buffered sends have, for a few of the largest messages. */
void attach_room(void);
void detach_room(void);
/* Does this MPI start a persistent buffered send a second time? Open MPI 4.1 then sends other bytes, of
 * host memory, too; where it does, such a request is started once. */
bool restarts_buffered(void);

#endif
