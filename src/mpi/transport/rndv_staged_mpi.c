#include "mpi/transport/rndv_staged_mpi.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/core/transport.h"
#include "mpi/transport/bounce_pool.h"
#include "mpi/transport/chunk_ring.h"
#include "mpi/transport/net_msg.h"

#define FIRST_TAG 16
#define WHOLE ((uint64_t)1 << 30) /* bytes of each message without chunks */
#define TAGS 16384                /* MPI promises 32767 */

struct transfer {
    struct transfer *next;
    struct gpubind_operation *operation;
    bool sending, straight;
    int tag;
    struct chunk_ring ring; /* straight: without a bounce buffer */
    struct bounce_buffer *bounce;
    /* A chunk is begun (a copy or a receive), then turned (a message or a copy), then
     * over; in this order among themselves. */
    uint64_t begun, turned, over;
    MPI_Request requests[CHUNKS_AHEAD_MOST];
    bool failed;
    uint64_t asked_by; /* a staged receive: the sender's operation, until it is answered; */
    bool unanswered;   /* once there is a bounce buffer, so that no sender holds one for nothing */
    double since;      /* when it began to wait for a bounce buffer */
};

static QUEUE_OF(struct transfer) transfers;
static double moved; /* when the last chunk was over in any bounce buffer */

/* A tag that no transfer to this rank has had lately. */
static int transfer_tag(void)
{
    static int next;

    next = (next + 1) % TAGS;
    return FIRST_TAG + next;
}

bool rndv_mpi_busy(void)
{
    return !QUEUE_EMPTY(&transfers);
}

static struct transfer *start(struct gpubind_operation *operation, bool sending, int tag,
                              uint64_t chunk, bool straight)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);

    if (!transfer)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    transfer->operation = operation;
    transfer->sending = sending;
    transfer->straight = straight;
    transfer->tag = tag;
    chunk_ring_init(&transfer->ring, operation, sending ? operation->nbytes : operation->got_bytes,
                    chunk, straight ? CHUNKS_AHEAD_MOST : PRIVATE_BOUNCE_BYTES / chunk);
    QUEUE_PUSH(&transfers, transfer, next);
    return transfer;
}

void rndv_mpi_send(struct gpubind_operation *send, int tag, uint64_t chunk, bool straight)
{
    start(send, true, tag, chunk, straight);
}

/* Answers the sender's announcement, when there is a bounce buffer if one is needed. */
static void transfer_receive(struct gpubind_operation *receive, const struct msg_header *header,
                             uint64_t chunk, bool straight, bool direct)
{
    const int tag = transfer_tag();
    struct transfer *transfer;

    trace(TRACE_P2P, "receive %u: by MPI, %s", receive->number,
          straight ? "straight to its memory" : "through host memory");
    receive->held = true;
    transfer = start(receive, false, tag, chunk, straight);
    transfer->asked_by = header->operation;
    transfer->unanswered = !straight;
    if (straight)
        net_msg_reply(receive->domain, receive->peer, header->operation, chunk, tag, direct);
}

static bool has_gpu_end(const struct gpubind_operation *receive)
{
    return receive->memory.gpu || receive->got_on_gpu;
}

bool rndv_mpi_direct_get(struct gpubind_operation *receive, const struct msg_header *header)
{
    if (!has_gpu_end(receive) ||
        !transport_reaches(TRANSPORT_MPI_DIRECT, receive->domain, receive->peer))
        return false;
    transfer_receive(receive, header, WHOLE, true, true);
    return true;
}

bool rndv_mpi_get(struct gpubind_operation *receive, const struct msg_header *header)
{
    const uint64_t most = PRIVATE_BOUNCE_BYTES / 3;
    uint64_t chunk = WHOLE;

    if (has_gpu_end(receive)) {
        chunk = chunk_bytes_of(receive->got_bytes);
        if (chunk > most)
            chunk = most;
    }
    transfer_receive(receive, header, chunk, !receive->memory.gpu, false);
    return true;
}

static void begin_message(struct transfer *transfer, uint64_t chunk)
{
    const struct gpubind_operation *operation = transfer->operation;
    void *at = (void *)(uintptr_t)(transfer->straight
                                       ? chunk_ring_in_message(&transfer->ring, chunk)
                                       : chunk_ring_in_bounce(&transfer->ring, chunk));
    int n = transfer->sending && transfer->failed ? 0
                                                  : (int)chunk_ring_nbytes(&transfer->ring, chunk);
    int rank = operation->peer->domain_rank, status;
    MPI_Request *request = &transfer->requests[chunk % CHUNKS_AHEAD_MOST];

    if (transfer->sending)
        status = PMPI_Isend(at, n, MPI_BYTE, rank, transfer->tag, operation->domain->shadow,
                            request);
    else
        status = PMPI_Irecv(at, n, MPI_BYTE, rank, transfer->tag, operation->domain->shadow,
                            request);
    if (status != MPI_SUCCESS) {
        *request = MPI_REQUEST_NULL;
        transfer->failed = true;
    }
}

static void begin_copy(struct transfer *transfer, uint64_t chunk)
{
    if (chunk_ring_copy(&transfer->ring, chunk, transfer->sending, &transfer->operation->error) < 0)
        transfer->failed = true;
}

static bool message_is_over(struct transfer *transfer, uint64_t chunk)
{
    MPI_Request *request = &transfer->requests[chunk % CHUNKS_AHEAD_MOST];
    const bool awaited = !transfer->sending && *request != MPI_REQUEST_NULL;
    MPI_Status status;
    int over = 1, n = 0;

    if (PMPI_Test(request, &over, &status) != MPI_SUCCESS) {
        error_set(&transfer->operation->error, "MPI could not move the data");
        transfer->failed = true;
        return true;
    }
    if (!over || !awaited)
        return over;
    PMPI_Get_count(&status, MPI_BYTE, &n);
    if ((size_t)n != chunk_ring_nbytes(&transfer->ring, chunk)) { /* a sender that failed */
        error_set(&transfer->operation->error, "the sender's copy failed");
        transfer->failed = true;
    }
    return true;
}

static bool copy_is_over(struct transfer *transfer, uint64_t chunk)
{
    const int ended = chunk_ring_copied(&transfer->ring, chunk, &transfer->operation->error);

    if (ended < 0)
        transfer->failed = true;
    return ended != 0;
}

/* After a failure the messages go on, so that the other side does not wait for ever. */
static void move_straight(struct transfer *transfer)
{
    while (transfer->begun < transfer->ring.nchunks &&
           transfer->begun < transfer->over + transfer->ring.depth)
        begin_message(transfer, transfer->begun++);
    while (transfer->over < transfer->begun && message_is_over(transfer, transfer->over))
        transfer->over++;
}

static void move_through_bounce(struct transfer *transfer)
{
    while (transfer->begun < transfer->ring.nchunks &&
           transfer->begun < transfer->over + transfer->ring.depth) {
        if (!transfer->sending)
            begin_message(transfer, transfer->begun);
        else
            begin_copy(transfer, transfer->begun);
        transfer->begun++;
    }
    while (transfer->turned < transfer->begun) {
        if (transfer->sending ? !copy_is_over(transfer, transfer->turned)
                              : !message_is_over(transfer, transfer->turned))
            break;
        if (transfer->sending)
            begin_message(transfer, transfer->turned);
        else
            begin_copy(transfer, transfer->turned);
        transfer->turned++;
    }
    while (transfer->over < transfer->turned) {
        if (transfer->sending ? !message_is_over(transfer, transfer->over)
                              : !copy_is_over(transfer, transfer->over))
            break;
        transfer->over++;
        moved = clock_seconds();
    }
}

static void end(struct transfer *transfer)
{
    struct gpubind_operation *operation = transfer->operation;

    if (transfer->bounce)
        bounce_give(transfer->bounce);
    if (transfer->failed)
        request_fail(operation);
    else if (!operation->done)
        request_succeed(operation);
    request_release(operation);
    free(transfer);
}

/* When all bounce buffers wait for peers that make no call of the library, and no chunk has moved
 * for this time, seconds, another buffer is allocated. */
#define BOUNCE_TIMEOUT 10e-3

static void take_bounce(struct transfer *transfer)
{
    const struct gpubind_operation *operation = transfer->operation;
    const double now = clock_seconds();
    bool more;

    if (transfer->since == 0)
        transfer->since = now;
    more = now - transfer->since > BOUNCE_TIMEOUT && now - moved > BOUNCE_TIMEOUT;
    if (more) /* one at a time */
        moved = now;
    transfer->bounce = bounce_take_private(transfer->sending ? BOUNCE_OF_SENDS : BOUNCE_OF_RECEIVES,
                                           more);
    if (transfer->bounce) {
        transfer->ring.address = transfer->bounce->address;
        transfer->ring.bounce = transfer->bounce->host;
    }
    if (!transfer->bounce || !transfer->unanswered)
        return;
    transfer->unanswered = false;
    net_msg_reply(operation->domain, operation->peer, transfer->asked_by,
                  transfer->ring.chunk_bytes, transfer->tag, false);
}

void rndv_mpi_progress(void)
{
    struct transfer **link = &transfers.first;

    while (*link) {
        struct transfer *transfer = *link;

        if (transfer->operation->order == ORDER_DEFERRED) {
            link = &transfer->next;
            continue;
        }
        if (transfer->operation->result != MPI_SUCCESS) /* its data could not be packed */
            transfer->failed = true;
        if (!transfer->straight && !transfer->bounce)
            take_bounce(transfer);
        if (transfer->straight)
            move_straight(transfer);
        else if (transfer->bounce)
            move_through_bounce(transfer);
        if (transfer->over < transfer->ring.nchunks) {
            link = &transfer->next;
            continue;
        }
        QUEUE_UNLINK(&transfers, link, next);
        end(transfer);
    }
}
