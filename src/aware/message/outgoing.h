/* The messages that this process sends directly, between direct_send.c, which sends them, outgoing_slots.c, which
 * knows those that are under way, and outgoing.c, which copies them to host memory where a receiver is late or
 * cannot map GPU memory. */
#ifndef GPUBIND_AWARE_OUTGOING_H
#define GPUBIND_AWARE_OUTGOING_H

#include "aware/base/traced.h"
#include "aware/memory/gpu_pool.h"
#include "aware/message/direct_send.h"

/* One for each slot. */
struct outgoing {
    struct direct_send send; /* first: what callers hold */
    struct direct_slot *slot;
    struct direct_peer *peer;
    struct traced call;
    bool used;      /* also after the application's send has completed, until the receiver has it */
    bool completed; /* the application's send has */
    bool retired;   /* see direct_send_plain */
    bool generalized;
    MPI_Request descriptor, request; /* of direct_send_later; request: a generalized one */
    double since;                    /* seconds; when the descriptor was made */
    unsigned asked;                  /* how often the state was looked at */
    unsigned failures;               /* to copy it to host memory */
    void *data;                      /* where it is buffered */
    struct gpu_block *packed; /* the GPU memory that has it; NULL: the application's buffer has */
    union {
        struct direct_descriptor head;
        uint64_t token;
        char all[DIRECT_SMALL_ROOM];
    } bytes;
};

extern struct outgoing outgoing[DIRECT_SLOTS];

double outgoing_now(void);
/* Where the slot's state is still the one that was seen, copies the message to host memory, and sets it to
 * DIRECT_BUFFERED. What the receiver wants is lost if that fails for a second. */
void outgoing_buffer(struct outgoing *out, uint32_t seen);
void outgoing_free_data(struct outgoing *out);
/* Starts a thread that buffers what receivers want that cannot map GPU memory, whatever the application's
 * threads do; the first call does. Without it, the sender's own calls do that. */
void outgoing_serve(void);
void outgoing_serve_no_more(void);

#endif
