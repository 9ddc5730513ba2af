/* A message of the soak: how it is sent, and how received. */
#ifndef GPUBIND_TESTS_MPI_SOAK_MESSAGES_H
#define GPUBIND_TESTS_MPI_SOAK_MESSAGES_H

#include "tests/mpi/soak.h"

/* Those before SEND are what a rank may send to itself before it receives. */
enum send_form {
    ISEND,
    ISSEND,
    ISEND_FREED,
    SEND_STARTED,
    ISEND_ON_STREAM,
    SEND,
    SSEND,
    SEND_ON_STREAM,
    SENDS
};
enum receive_form {
    RECV,
    IRECV,
    IRECV_FREED,
    RECV_STARTED,
    PROBE,
    IPROBE,
    MPROBE,
    IMPROBE,
    RECV_ALLOC,
    IRECV_ON_STREAM,
    RECV_ON_STREAM,
    RECEIVES
};

extern const char *const send_names[SENDS], *const receive_names[RECEIVES];

struct message {
    int from, to, tag;
    int source, wanted; /* of the receive: from and tag, or wildcards */
    enum send_form send;
    enum receive_form receive;
    int send_stream, receive_stream;
    uint64_t seed;
    struct layout sent, got;
    struct slot out, in;
    int waits;                   /* the receive's place among pending requests; -1: none */
    gpubind_request requests[2]; /* persistent ones, of the send and of the receive */
    void *made;                  /* by recv_alloc */
};

/* What a send, or a receive, calls first. Returns what that says. */
int message_send(struct message *message, MPI_Comm comm, struct pending *pending);
int message_receive(struct message *message, MPI_Comm comm, struct pending *pending);
void message_status(const struct message *message, MPI_Status *status);

#endif
