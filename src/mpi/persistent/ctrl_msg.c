/* Control messages of channels: sending and receiving them as messages of the library. */
#include "mpi/persistent/ctrl_msg.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "mpi/core/context.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/send_net.h"
#include "mpi/p2p/send_shm.h"

struct transfer { /* one control message, from its send or announcement to its end */
    struct transfer *next;
    struct gpubind_operation *operation;
    uint64_t sequence;
    struct ctrl_msg msg;
};

/* Seconds in which an announced control message arrives, unless its sender has to make progress
 * for it, which may be in an MPI call for long. */
#define ARRIVAL_SECONDS 1e-3

static struct transfer *sending;
static QUEUE_OF(struct transfer) receiving;
static QUEUE_OF(struct transfer) unsent; /* until a thread that may call MPI comes */
static double announced;                 /* when the latest of `receiving` was */

static struct transfer *make(enum request_kind kind, struct comm *companion, int rank)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    struct gpubind_operation *operation = request_make(kind);

    if (!transfer || !operation) /* the peer waits for the message */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    request_attach(operation, companion);
    operation->rank = rank;
    operation->peer = &companion->domain->peers[companion->domain_ranks[rank]];
    operation->tag = CTRL_TAG;
    operation->buffer = &transfer->msg;
    operation->memory.address = (gpu_address)(uintptr_t)&transfer->msg;
    operation->nbytes = sizeof transfer->msg;
    transfer->operation = operation;
    return transfer;
}

static void send(struct transfer *transfer)
{
    if (transfer->operation->peer->local >= 0)
        send_shm(transfer->operation);
    else
        send_net(transfer->operation);
    transfer->next = sending;
    sending = transfer;
}

void ctrl_msg_send(struct comm *comm, int rank, const struct ctrl_msg *msg)
{
    struct transfer *transfer = make(REQUEST_SEND, comm->companion, rank);

    transfer->msg = *msg;
    if (transfer->operation->peer->local >= 0 || (library_may_call_mpi() && QUEUE_EMPTY(&unsent))) {
        send(transfer);
        return;
    }
    QUEUE_PUSH(&unsent, transfer, next);
}

static void send_unsent(void)
{
    while (!QUEUE_EMPTY(&unsent) && library_may_call_mpi())
        send(QUEUE_POP(&unsent, next));
}

void ctrl_msg_arrived(struct comm *companion, const struct incoming_msg *incoming)
{
    struct transfer *transfer = make(REQUEST_RECEIVE, companion, incoming->header.source);

    announced = clock_seconds();
    transfer->sequence = incoming->header.sequence;
    transfer->operation->peer->ctrl_msgs++;
    QUEUE_PUSH(&receiving, transfer, next);
    receive_start(transfer->operation, incoming);
}

static void free_sent(void)
{
    struct transfer **link = &sending;

    while (*link) {
        struct transfer *transfer = *link;

        if (!transfer->operation->done) {
            link = &transfer->next;
            continue;
        }
        *link = transfer->next;
        request_free(transfer->operation);
        free(transfer);
    }
}

void ctrl_msgs_read(void (*take)(struct comm *, int rank, const struct ctrl_msg *))
{
    free_sent();
    send_unsent();
    while (!QUEUE_EMPTY(&receiving) && receiving.first->operation->done) {
        struct transfer *transfer = QUEUE_POP(&receiving, next);

        if (transfer->operation->result != MPI_SUCCESS) /* the peer counts on its being handled */
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_INTERN);
        transfer->msg.sequence = transfer->sequence;
        transfer->operation->peer->ctrl_msgs--;
        take(transfer->operation->comm->of, transfer->operation->rank, &transfer->msg);
        request_free(transfer->operation); /* this may free the communicator */
        free(transfer);
    }
}

bool ctrl_msgs_busy(void)
{
    return sending || !QUEUE_EMPTY(&receiving) || !QUEUE_EMPTY(&unsent);
}

static bool has_any_on(const struct transfer *transfer, const struct comm *companion)
{
    while (transfer && transfer->operation->comm != companion)
        transfer = transfer->next;
    return transfer;
}

bool ctrl_msgs_busy_on(const struct comm *comm)
{
    return has_any_on(sending, comm->companion) || has_any_on(receiving.first, comm->companion) ||
           has_any_on(unsent.first, comm->companion);
}

bool ctrl_msgs_coming(void)
{
    return !QUEUE_EMPTY(&receiving) && clock_seconds() - announced < ARRIVAL_SECONDS;
}
