/* A request: one send or receive, from the call until the application has been told that it is
 * complete. */
#ifndef GPUBIND_MPI_CORE_REQUEST_H
#define GPUBIND_MPI_CORE_REQUEST_H

#include "gpu/copy/copy_batch.h"
#include "gpu/core/ipc_cache.h"
#include "gpu/exchange/gpu_slots.h"
#include "mpi/base/trace_part.h"
#include "mpi/core/comm.h"

enum request_kind { REQUEST_SEND, REQUEST_RECEIVE };

/* State of the GPU work that comes before the request: in the legacy stream of the buffer's
 * context, or in the stream that the call was given. */
enum order {
    ORDER_DONE,    /* complete, or not waited for: a nonblocking call does not order */
    ORDER_OPEN,    /* under way (`before`): the buffer must not be touched yet */
    ORDER_DEFERRED /* the stream has not reached the call, or the data of a send are not packed */
};

struct staging;
struct pack;
struct channel;
struct release;

/* Operations of a request that the modules above implement: for messages, and for persistent
 * requests. */
struct request_ops {
    /* A call waits for the request or tests it: does what is only done then. */
    void (*nudge)(struct gpubind_operation *operation);
    /* Called from time to time meanwhile: checks whether the peer still lives, and prints the
     * notice about long waits. */
    void (*look_after)(struct gpubind_operation *operation);
    /* Frees what the request owns. */
    void (*clear)(struct gpubind_operation *operation);
};

struct gpubind_operation {
    struct gpubind_operation *next; /* in the one list that it is in: posted, ready, queued */
    enum request_kind kind;
    uint32_t number; /* by which GPUBIND_LOG tells it from others of this process */
    const struct request_ops *ops;
    bool done;
    bool held;        /* the progress engine uses it, perhaps after it is done */
    bool forgotten;   /* nobody asks for it any more: put back when it is not held */
    bool freed;       /* by gpubind_request_free, while it was active */
    bool served;      /* held, and the progress thread should not pause */
    bool waited;      /* a thread waits in the library */
    bool inactive;    /* persistent, and not started */
    bool synchronous; /* a send that completes only when its receive has been matched */
    bool cancelled;   /* a receive that was cancelled before a message matched */
    struct gpubind_operation *next_freed; /* see freed_requests.h */
    int result;                           /* MPI error class */
    struct gpubind_error error;
    double started; /* when a call first waited for it, seconds; 0: none has */
    double looked;  /* when a test last called look_after */

    struct domain *domain;
    struct comm *comm;
    struct peer *peer; /* NULL: a receive from any source */
    int rank, tag;     /* of the other side, as asked for */
    struct memory memory;
    void *buffer;    /* memory's address for the CPU */
    uint64_t nbytes; /* to send; room to receive */
    uint32_t type;
    enum order order;
    double order_until; /* ORDER_OPEN: wait no longer than this, seconds; 0: without limit */
    struct gpu_completion before; /* ORDER_OPEN: that work */
    bool on_stream;             /* a progress thread that must not call MPI may have to serve it */
    struct incoming_msg *early; /* a receive: its message, until both are ready */
    struct pack *pack;          /* strided data: see pack.h for whose the buffer above is */

    /* the message that a receive has matched */
    int source, got_tag;
    uint64_t got_bytes;
    uint32_t got_type;
    bool got_on_gpu;

    /* a send to a rank of this node */
    int descriptor;   /* -1: none yet */
    int eager_buffer; /* that has its data, the descriptor's own or another's; -1: none */
    struct gpubind_operation *next_packing; /* see send_deferred.h */
    bool packing;
    bool payload_deferred;   /* to another node: announced, the data follow */
    bool unwanted;           /* CTS with chunk 0: no data, but packing is still under way */
    struct release *release; /* not NULL: no message, but the request to close a mapping */
    /* a receive from a rank of this node: the sender's descriptor */
    struct descriptor *from;
    struct mapping *mapping;
    struct staging *staging; /* a send through a bounce buffer */
    struct rtr *rtr;         /* mine, open */
    /* in a stream: */
    struct stream_gate gate; /* of its call, that others may use; came 0: they may not */
    struct stream_receive
        *stream_receive;  /* mine, advertised; or the one that a send has matched */
    int landing;          /* an eager buffer that a receive has its data put into first; -1: none */
    struct memory landed; /* and the application's buffer */
    struct gpu_slot slot; /* where another GPU may put them instead */
    bool launches;        /* a send whose stream can write to a slot, */
    gpu_address slot_at;  /* and the slot's address here, which mapping gives; 0: none */
    bool has_landed;      /* they are in the eager buffer, or will not be */
    bool has_share;       /* see eager_share_take */
    struct channel *channel; /* of a persistent request; see channel.h */

    uint64_t called;      /* GPUBIND_TRACE: when its call began, ns; 0: it is no event */
    enum trace_path went; /* how its data went, as far as is known by now */
};

/* The operations of requests that are given no others. */
void request_default_ops(const struct request_ops *ops);
struct gpubind_operation *request_make(enum request_kind kind);
/* The request belongs to the communicator from now on. */
void request_attach(struct gpubind_operation *operation, struct comm *comm);
/* The application has been told of its end, or has freed it: frees it when it is not held. */
void request_free(struct gpubind_operation *operation);
/* Until it is released the progress thread makes no pauses: a stream may wait for it. */
void request_serve(struct gpubind_operation *operation);
bool requests_are_served(void);
/* The progress engine no longer uses it (held). */
void request_release(struct gpubind_operation *operation);
/* Completes the request with MPI_SUCCESS, or with an error class and a sentence. */
void request_complete(struct gpubind_operation *operation, int result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Completes it with MPI_ERR_OTHER; the sentence is in its error already. */
void request_fail(struct gpubind_operation *operation);
void request_succeed(struct gpubind_operation *operation);
/* The message is an event of the trace, if one is recorded, when it completes without an error. */
static inline void request_record(struct gpubind_operation *operation)
{
    if (__builtin_expect(!trace_part_is_on, true))
        return;
    operation->called = trace_part_now();
    operation->went = operation->memory.gpu ? TRACE_DIRECT : TRACE_PLAIN;
}
/* It is one without a duration: the application's stream goes on with it, and nobody follows it there. */
void request_record_start(struct gpubind_operation *operation);
/* Of host memory a trace says that it is plain. */
static inline void request_went(struct gpubind_operation *operation, enum trace_path path)
{
    if (operation->memory.gpu)
        operation->went = path;
}
/* Orders the request after the work that is in the legacy stream now. A failure of that work
 * becomes the request's error when its message is known, so that the other side is told. */
void request_order(struct gpubind_operation *operation);
/* The application has been told of its end, or has freed it, and names it again: twice in a list, or by a copy of its
 * handle. As long as no other request has its place, that is seen. */
static inline bool request_is_stale(const struct gpubind_operation *operation)
{
    return operation && (operation->forgotten || operation->freed);
}
/* Says so. MPI_ERR_REQUEST. */
int request_refuse_stale(struct gpubind_error *err);
/* 1: the buffer may be touched; 0: not yet; -1: the request has completed with an error. */
int request_check_order(struct gpubind_operation *operation);
void requests_clear(void);
/* Counts n more (or less) live requests: those that the application will be told of, or that the
 * progress engine uses. A persistent request counts while it is active. */
void requests_count(int n);
int requests_live(void);
/* There has been a request since the library started. */
extern bool requests_used;
/* A request has moved on; how often that was so. A wait that sees no change may sleep. */
void progress_made(void);
unsigned progress_count(void);
double clock_seconds(void);

#endif
