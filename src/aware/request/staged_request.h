/* One entry of the table of requests (requests.c), the list of those that may get direct messages
 * (requests_pull.c), those that were freed (requests_freed.c), and persistent sends that go directly
 * (persistent.c). For these four alone. */
#ifndef GPUBIND_AWARE_STAGED_REQUEST_H
#define GPUBIND_AWARE_STAGED_REQUEST_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>

#include "aware/request/persistent.h"
#include "aware/request/requests.h"

struct staged_request {
    struct staged_request *next;
    struct staged_request *before, *after; /* of those that may get direct messages */
    struct staged_request *next_partitioned;
    MPI_Request request;
    MPI_Comm comm;
    struct traced call;
    struct staged buffers[2];
    int n;
    bool creates; /* a communicator */
    bool pulled;  /* direct messages are, before it is completed */
    bool persistent;
    persistent_send
        *send; /* of a persistent send that may go directly; NULL: it goes through MPI */
    int dest, tag;
    struct direct_send *direct_send; /* that it was prepared for */
    MPI_Request
        standing_in; /* for request, since a start that goes directly; or MPI_REQUEST_NULL */
    bool active;     /* started and not complete */
    bool written;    /* its buffers are, although it is still there */
    bool busy; /* a thread looks at it or writes it, without the lock; others wait until it has */
    bool ordinary;     /* complete, and no direct message */
    MPI_Count direct;  /* bytes of the direct message that was written; -1: none was */
    int error;         /* of writing it */
    MPI_Status status; /* of one that was freed, when it is complete */
};

/* Of the table, the lists, and of each request active, written, ordinary and busy. */
extern pthread_mutex_t requests_lock;

/* The last buffer is what a message is received in. */
static inline struct staged *buffer_of_message(struct staged_request *request)
{
    return &request->buffers[request->n - 1];
}

/* Asks MPI, with the lock released meanwhile: MPI makes progress, in which functions of the application may wait for
 * another of its threads. It is in the table, where it stays, and not busy. true: it is busy now, this thread's. */
bool request_is_over(struct staged_request *request, MPI_Status *status);
/* MPI has completed it with that status: copies what has come. An MPI error class. */
int request_write(struct staged_request *request, MPI_Status *status);
/* It is in no list any more. */
void request_end(struct staged_request *request);

/* From when it is in the table until it is taken. The lock is held. */
void request_expects(struct staged_request *request);
void request_expects_no_more(struct staged_request *request);

#endif
