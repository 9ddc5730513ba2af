#include "mpi/p2p/tag_match.h"

#include <stdlib.h>

#include "mpi/base/trace.h"
#include "mpi/core/wait_notice.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/unexpected.h"

static bool closed;
static struct incoming_msg *unknown_context, **unknown_context_end = &unknown_context;
static struct incoming_msg *extracted;

static bool fits(const struct wire_header *header, int source, int tag)
{
    return (source == MPI_ANY_SOURCE || source == header->source) &&
           (tag == MPI_ANY_TAG || tag == header->tag);
}

static void unlink_posted(struct comm *comm, struct gpubind_operation **link)
{
    struct gpubind_operation *receive = *link;

    *link = receive->next;
    if (comm->posted_end == &receive->next)
        comm->posted_end = link;
    receive->next = NULL;
}

static void keep(struct incoming_msg ***end, const struct incoming_msg *incoming, bool window)
{
    struct incoming_msg *unexpected;

    if (closed && !window) {
        receive_drop(incoming);
        return;
    }
    unexpected = malloc(sizeof *unexpected);
    if (!unexpected) /* a message that was promised cannot be dropped */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *unexpected = *incoming;
    unexpected->next = NULL;
    **end = unexpected;
    *end = &unexpected->next;
    trace(TRACE_P2P, "message %llu of rank %d, tag %d, %llu bytes: unexpected",
          (unsigned long long)incoming->header.sequence, incoming->header.source,
          incoming->header.tag, (unsigned long long)incoming->header.nbytes);
    unexpected_add(unexpected);
}

/* Messages of the library's own that no receive is posted for. Their tags are negative, as
 * no application's are. */
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

static bool is_handled(struct comm *comm, const struct incoming_msg *incoming)
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

    if (!comm) {
        keep(&unknown_context_end, incoming, false);
        return;
    }
    if (incoming->header.tag < 0 && (comm->of || comm->window) && is_handled(comm, incoming))
        return;
    for (struct gpubind_operation **link = &comm->posted; *link; link = &(*link)->next) {
        struct gpubind_operation *receive = *link;

        if (!fits(&incoming->header, receive->rank, receive->tag))
            continue;
        unlink_posted(comm, link);
        receive_start(receive, incoming);
        return;
    }
    keep(&comm->unexpected_end, incoming, comm->window);
}

static struct incoming_msg **find(const struct comm *comm, int source, int tag)
{
    /* The list's first link is the communicator's own, which is not const. */
    struct incoming_msg **link = (struct incoming_msg **)&comm->unexpected;

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

    return comm ? comm->unexpected : unknown_context;
}

static void drop(struct incoming_msg **first, struct incoming_msg ***end)
{
    while (*first) {
        struct incoming_msg *incoming = *first;

        *first = incoming->next;
        unexpected_remove(incoming);
        receive_drop(incoming);
        free(incoming);
    }
    *end = first;
}

void match_forget(const struct domain *domain)
{
    struct incoming_msg **link = &unknown_context;

    while (*link) {
        struct incoming_msg *incoming = *link;

        if (incoming->domain != domain) {
            link = &incoming->next;
            continue;
        }
        *link = incoming->next;
        unexpected_remove(incoming);
        receive_drop(incoming);
        free(incoming);
    }
    unknown_context_end = link;
}

static void tell(const struct comm *comm)
{
    int n = 0;

    for (const struct incoming_msg *msg = comm->unexpected; msg; msg = msg->next)
        n++;
    if (n > 0)
        wait_notice_left(comm, n, comm->unexpected->header.source, comm->unexpected->header.tag);
}

void match_close(void)
{
    struct incoming_msg **unused;

    closed = true;
    for (struct comm *comm = comm_first(); comm; comm = comm->next)
        if (!comm->window) {
            tell(comm);
            drop(&comm->unexpected, &comm->unexpected_end);
        }
    drop(&unknown_context, &unknown_context_end);
    drop(&extracted, &unused);
}

/* The oldest that fits; NULL: none. */
static struct incoming_msg *unlink_unexpected(struct comm *comm, int source, int tag)
{
    struct incoming_msg **link = find(comm, source, tag), *incoming = *link;

    if (!incoming)
        return NULL;
    *link = incoming->next;
    if (comm->unexpected_end == &incoming->next)
        comm->unexpected_end = link;
    unexpected_remove(incoming);
    return incoming;
}

void match_receive(struct gpubind_operation *receive)
{
    struct comm *comm = receive->comm;
    struct incoming_msg *incoming = unlink_unexpected(comm, receive->rank, receive->tag);

    if (!incoming) {
        *comm->posted_end = receive;
        comm->posted_end = &receive->next;
        return;
    }
    receive_start(receive, incoming);
    free(incoming);
}

struct incoming_msg *match_extract(const struct comm *comm, int source, int tag)
{
    struct incoming_msg *incoming = unlink_unexpected(comm_with(comm->context), source, tag);

    if (incoming) {
        incoming->next = extracted;
        extracted = incoming;
    }
    return incoming;
}

struct incoming_msg *match_extracted(void)
{
    return extracted;
}

bool match_is_extracted(const struct incoming_msg *incoming)
{
    const struct incoming_msg *other = extracted;

    while (other && other != incoming)
        other = other->next;
    return other;
}

void match_receive_extracted(struct gpubind_operation *receive, struct incoming_msg *incoming)
{
    struct incoming_msg **link = &extracted;

    while (*link != incoming)
        link = &(*link)->next;
    *link = incoming->next;
    receive_start(receive, incoming);
    free(incoming);
}

bool match_withdraw(struct gpubind_operation *receive)
{
    for (struct gpubind_operation **link = &receive->comm->posted; *link; link = &(*link)->next)
        if (*link == receive) {
            unlink_posted(receive->comm, link);
            return true;
        }
    return false;
}

void match_adopt(void)
{
    struct incoming_msg *all = unknown_context;

    unknown_context = NULL;
    unknown_context_end = &unknown_context;
    while (all) {
        struct incoming_msg *incoming = all;

        all = incoming->next;
        unexpected_remove(incoming);
        match_incoming(incoming);
        free(incoming);
    }
}

void match_clear(struct comm *comm)
{
    while (comm->unexpected) {
        struct incoming_msg *incoming = comm->unexpected;

        comm->unexpected = incoming->next;
        unexpected_remove(incoming);
        free(incoming->data);
        free(incoming);
    }
    comm->unexpected_end = &comm->unexpected;
}
