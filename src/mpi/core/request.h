/* One send or receive, from the call until the application has heard of its end. */
#ifndef GPUBIND_MPI_CORE_REQUEST_H
#define GPUBIND_MPI_CORE_REQUEST_H

#include "gpu/copy/copy_batch.h"
#include "gpu/core/ipc_cache.h"
#include "mpi/core/comm.h"

enum request_kind { REQUEST_SEND, REQUEST_RECEIVE };

/* Earlier work in the legacy stream of the buffer's context, or in the stream that the
 * call was given. */
enum order {
    ORDER_DONE,   /* or asked for by nobody: the call is nonblocking */
    ORDER_OPEN,   /* must be waited for before the buffer is touched: `before` */
    ORDER_DEFERRED   /* the call's stream has not got there yet, or a send's data are not packed */
};

struct staging;
struct pack;
struct channel;
struct release;

/* What modules above do for an operation: a message, or a persistent request. */
struct request_ops {
    /* Somebody waits for it, or tests it: what only then is done. */
    void (*nudge)(struct gpubind_operation *operation);
    /* The same from time to time: its peer may be gone, or nobody comes. */
    void (*look_after)(struct gpubind_operation *operation);
    /* It goes, with what belongs to it. */
    void (*clear)(struct gpubind_operation *operation);
};

struct gpubind_operation {
    struct gpubind_operation *next; /* in the one list it is in: posted, ready, queued */
    enum request_kind kind;
    uint32_t number; /* by which GPUBIND_LOG tells it from others of this process */
    const struct request_ops *ops;
    bool done;
    bool held;      /* in use by the progress engine, maybe after it is done */
    bool forgotten; /* the application has no more to do with it */
    bool waited;    /* a thread waits in the library */
    bool inactive;  /* persistent, and not started */
    bool synchronous; /* a send: it ends when its receive has begun, not before */
    bool cancelled; /* a receive: it was taken back before a message came */
    struct gpubind_operation *next_freed; /* see freed_requests.h */
    int result;     /* MPI error class */
    struct gpubind_error error;
    double started; /* when somebody began to wait for it, seconds; 0: not yet */
    double looked;  /* when a test last looked after it */

    struct domain *domain;
    struct comm *comm;
    struct peer *peer; /* NULL: a receive from any source */
    int rank, tag;     /* of the other side, as asked for */
    struct memory memory;
    void *buffer;      /* memory's address for the CPU */
    uint64_t nbytes;   /* to send; room to receive */
    uint32_t type;
    enum order order;
    double order_until;  /* ORDER_OPEN: wait no longer than this, seconds; 0: without limit */
    struct flight before; /* ORDER_OPEN: that work */
    bool on_stream;    /* may be served by a thread that may not call MPI */
    struct incoming_msg *early; /* a receive: its message, until both are ready */
    struct pack *pack; /* strided data: see pack.h for whose the buffer above is */

    /* what a receive got */
    int source, got_tag;
    uint64_t got_bytes;
    uint32_t got_type;
    bool got_on_gpu;

    /* a send to a rank of this node */
    int descriptor; /* -1: none yet */
    int eager_buffer;       /* that has its data, the descriptor's own or another's; -1: none */
    struct gpubind_operation *next_packing; /* see send_deferred.h */
    bool packing;
    bool payload_deferred;    /* to another node: announced, the data follow */
    bool unwanted; /* the receiver had no room, but it is not packed yet */
    struct release *release; /* it is no message, but asks to close a mapping */
    /* a receive from one: the sender's */
    struct descriptor *from;
    struct mapping *mapping;
    struct staging *staging;   /* a send through a bounce buffer */
    struct rtr *rtr;       /* mine, open */
    struct channel *channel; /* of a persistent request; see channel.h */
};

/* The ops of operations that get no others. */
void request_default_ops(const struct request_ops *ops);
struct gpubind_operation *request_make(enum request_kind kind);
/* It is one of the communicator's. */
void request_attach(struct gpubind_operation *operation, struct comm *comm);
/* The application has heard of its end, or never will. */
void request_free(struct gpubind_operation *operation);
/* The progress engine needs it no more. */
void request_release(struct gpubind_operation *operation);
/* Ends it: with MPI_SUCCESS, or an error class and a sentence. */
void request_complete(struct gpubind_operation *operation, int result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* With MPI_ERR_OTHER and the sentence that is in its error already. */
void request_fail(struct gpubind_operation *operation);
void request_succeed(struct gpubind_operation *operation);
/* It comes after what is in the legacy stream now. What goes wrong is its error when its
 * message is known, so that the other side hears of it. */
void request_order(struct gpubind_operation *operation);
/* 1: the buffer may be touched; 0: not yet; -1: the operation has ended with an error. */
int request_check_order(struct gpubind_operation *operation);
void requests_clear(void);
/* Operations that somebody will hear of or the progress engine needs; persistent ones count while
 * they are active: the n that are added. */
void requests_count(int n);
int requests_live(void);
/* There has been one since the library started. */
extern bool requests_used;
/* Something has happened to one of them; how often it did. */
void progress_made(void);
unsigned progress_count(void);
double clock_seconds(void);

#endif
