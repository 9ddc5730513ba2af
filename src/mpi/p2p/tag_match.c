#include "mpi/p2p/tag_match.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/wait_notice.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/stream_receive.h"
#include "mpi/p2p/unexpected.h"

static bool closed;
static struct incoming_queue unknown_context;
static struct incoming_queue extracted;
static struct incoming_queue
    left; /* by freed communicators, until a thread comes that may call MPI */

/* The latest communicators that were freed here: what still comes for them is dropped. */
#define FREED_CONTEXTS 1024
static uint64_t freed_contexts[FREED_CONTEXTS];
static unsigned nfreed;

static bool is_freed(uint64_t context)
{
    for (unsigned i = 0; i < nfreed && i < FREED_CONTEXTS; i++)
        if (freed_contexts[i] == (context & ~(uint64_t)1))
            return true;
    return false;
}

static bool fits(const struct msg_header *header, int source, int tag)
{
    return (source == MPI_ANY_SOURCE || source == header->source) &&
           (tag == MPI_ANY_TAG || tag == header->tag);
}

static void append_unexpected(struct incoming_queue *queue, const struct incoming_msg *incoming,
                              bool window)
{
    struct incoming_msg *unexpected;

    if (closed && !window) {
        receive_drop(incoming);
        return;
    }
    unexpected = malloc(sizeof *unexpected);
    if (!unexpected) /* its sender counts on the message */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *unexpected = *incoming;
    QUEUE_PUSH(queue, unexpected, next);
    trace(TRACE_P2P, "message %llu of rank %d, tag %d, %llu bytes: unexpected",
          (unsigned long long)incoming->header.sequence, incoming->header.source,
          incoming->header.tag, (unsigned long long)incoming->header.nbytes);
    unexpected_add(unexpected);
}

/* Active messages of the library. Their tags are negative, which those of applications are not. */
static struct handler {
    int tag;
    void (*take)(struct comm *comm, const struct incoming_msg *incoming);
} handlers[2];
static int nhandlers;

void match_set_handler(int tag,
                       void (*take)(struct comm *comm, const struct incoming_msg *incoming))
{
    for (int i = 0; i < nhandlers; i++)
        if (handlers[i].tag == tag)
            return;
    handlers[nhandlers++] = (struct handler){tag, take};
}

static bool call_handler(struct comm *comm, const struct incoming_msg *incoming)
{
    for (int i = 0; i < nhandlers; i++)
        if (handlers[i].tag == incoming->header.tag) {
            handlers[i].take(comm, incoming);
            return true;
        }
    return false;
}

void match_incoming(const struct incoming_msg *incoming)
{
    struct comm *comm = comm_with(incoming->header.context);

    if (!comm && is_freed(incoming->header.context)) {
        receive_drop(incoming);
        return;
    }
    if (!comm) {
        append_unexpected(&unknown_context, incoming, false);
        return;
    }
    if (incoming->header.tag < 0 && (comm->of || comm->window) && call_handler(comm, incoming))
        return;
    for (struct gpubind_operation **link = &comm->posted.first; *link;) {
        struct gpubind_operation *receive = *link;

        if (!fits(&incoming->header, receive->rank, receive->tag)) {
            link = &receive->next;
            continue;
        }
        QUEUE_UNLINK(&comm->posted, link, next);
        if (!stream_receive_cancel(receive)) /* it has matched an earlier message */
            continue;
        receive_start(receive, incoming);
        return;
    }
    append_unexpected(&comm->unexpected, incoming, comm->window);
}

static struct incoming_msg **find(const struct comm *comm, int source, int tag)
{
    /* The first link is in the communicator, which is not const. */
    struct incoming_msg **link = (struct incoming_msg **)&comm->unexpected.first;

    while (*link && !fits(&(*link)->header, source, tag))
        link = &(*link)->next;
    return link;
}

const struct incoming_msg *match_peek(const struct comm *comm, int source, int tag)
{
    return *find(comm, source, tag);
}

struct incoming_msg *match_unexpected(uint64_t context)
{
    const struct comm *comm = comm_with(context);

    return comm ? comm->unexpected.first : unknown_context.first;
}

static void drop(struct incoming_queue *queue)
{
    struct incoming_msg *incoming;

    while ((incoming = QUEUE_POP(queue, next))) {
        unexpected_remove(incoming);
        receive_drop(incoming);
        free(incoming);
    }
}

static void forget(struct incoming_queue *queue, const struct domain *domain)
{
    struct incoming_msg **link = &queue->first;

    while (*link) {
        struct incoming_msg *incoming = *link;

        if (incoming->domain != domain) {
            link = &incoming->next;
            continue;
        }
        QUEUE_UNLINK(queue, link, next);
        unexpected_remove(incoming);
        receive_drop(incoming);
        free(incoming);
    }
}

void match_forget(const struct domain *domain)
{
    forget(&unknown_context, domain);
    forget(&left, domain);
}

static void warn_left(const struct comm *comm)
{
    int n = 0;

    for (const struct incoming_msg *msg = comm->unexpected.first; msg; msg = msg->next)
        n++;
    if (n > 0)
        wait_notice_left(comm, n, comm->unexpected.first->header.source,
                         comm->unexpected.first->header.tag);
}

void match_close(void)
{
    closed = true;
    for (struct comm *comm = comm_first(); comm; comm = comm->next)
        if (!comm->window) {
            warn_left(comm);
            drop(&comm->unexpected);
        }
    drop(&unknown_context);
    drop(&extracted);
    drop(&left);
}

/* The oldest that fits; NULL: none. */
static struct incoming_msg *unlink_unexpected(struct comm *comm, int source, int tag)
{
    struct incoming_msg **link = find(comm, source, tag), *incoming = *link;

    if (!incoming)
        return NULL;
    QUEUE_UNLINK(&comm->unexpected, link, next);
    unexpected_remove(incoming);
    return incoming;
}

void match_receive(struct gpubind_operation *receive)
{
    struct comm *comm = receive->comm;
    struct incoming_msg *incoming = unlink_unexpected(comm, receive->rank, receive->tag);

    if (!incoming) {
        QUEUE_PUSH(&comm->posted, receive, next);
        return;
    }
    receive_start(receive, incoming);
    free(incoming);
}

struct incoming_msg *match_extract(const struct comm *comm, int source, int tag)
{
    struct incoming_msg *incoming = unlink_unexpected(comm_with(comm->context), source, tag);

    if (incoming)
        QUEUE_PUSH_FRONT(&extracted, incoming, next);
    return incoming;
}

struct incoming_msg *match_extracted(void)
{
    return extracted.first;
}

bool match_is_extracted(const struct incoming_msg *incoming)
{
    const struct incoming_msg *other = extracted.first;

    while (other && other != incoming)
        other = other->next;
    return other;
}

void match_receive_extracted(struct gpubind_operation *receive, struct incoming_msg *incoming)
{
    QUEUE_REMOVE(&extracted, incoming, next);
    receive_start(receive, incoming);
    free(incoming);
}

bool match_withdraw(struct gpubind_operation *receive)
{
    return QUEUE_REMOVE(&receive->comm->posted, receive, next);
}

void match_adopt(void)
{
    struct incoming_msg *all = unknown_context.first;

    unknown_context.first = NULL;
    while (all) {
        struct incoming_msg *incoming = all;

        all = incoming->next;
        unexpected_remove(incoming);
        match_incoming(incoming);
        free(incoming);
    }
}

void match_drop_left(void)
{
    drop(&left);
}

void match_clear(struct comm *comm)
{
    struct incoming_msg *incoming;

    if (!comm->of)
        freed_contexts[nfreed++ % FREED_CONTEXTS] = comm->context;
    while ((incoming = QUEUE_POP(&comm->unexpected, next))) {
        unexpected_remove(incoming);
        if (!incoming->from && !library_may_call_mpi()) {
            QUEUE_PUSH(&left, incoming, next);
            continue;
        }
        receive_drop(incoming);
        free(incoming);
    }
}
