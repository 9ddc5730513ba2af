#include "mpi/p2p/tag_match.h"

#include <stdlib.h>

#include "mpi/core/trace.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/unexpected.h"
#include "mpi/p2p/wait_notice.h"

static bool closed;
static struct arrival *orphans, **orphans_end = &orphans;
static struct arrival *taken;

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

static void keep(struct arrival ***end, const struct arrival *arrival, bool window)
{
    struct arrival *kept;

    if (closed && !window) {
        receive_drop(arrival);
        return;
    }
    kept = malloc(sizeof *kept);
    if (!kept) /* a message that was promised cannot be dropped */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *kept = *arrival;
    kept->next = NULL;
    **end = kept;
    *end = &kept->next;
    trace(TRACE_P2P, "message %llu of rank %d, tag %d, %llu bytes: unexpected",
          (unsigned long long)arrival->header.sequence, arrival->header.source,
          arrival->header.tag, (unsigned long long)arrival->header.nbytes);
    unexpected_add(kept);
}

/* Messages of the library's own that no receive is posted for. Their tags are negative, as
 * no application's are. */
static struct handler {
    int tag;
    void (*take)(struct comm *comm, const struct arrival *arrival);
} handlers[2];
static int nhandlers;

void match_hand_to(int tag, void (*take)(struct comm *comm, const struct arrival *arrival))
{
    for (int i = 0; i < nhandlers; i++)
        if (handlers[i].tag == tag)
            return;
    handlers[nhandlers++] = (struct handler){tag, take};
}

static bool is_handled(struct comm *comm, const struct arrival *arrival)
{
    for (int i = 0; i < nhandlers; i++)
        if (handlers[i].tag == arrival->header.tag) {
            handlers[i].take(comm, arrival);
            return true;
        }
    return false;
}

void match_arrival(const struct arrival *arrival)
{
    struct comm *comm = comm_with(arrival->header.context);

    if (!comm) {
        keep(&orphans_end, arrival, false);
        return;
    }
    if (arrival->header.tag < 0 && (comm->of || comm->window) && is_handled(comm, arrival))
        return;
    for (struct gpubind_operation **link = &comm->posted; *link; link = &(*link)->next) {
        struct gpubind_operation *receive = *link;

        if (!fits(&arrival->header, receive->rank, receive->tag))
            continue;
        unlink_posted(comm, link);
        receive_start(receive, arrival);
        return;
    }
    keep(&comm->kept_end, arrival, comm->window);
}

static struct arrival **find(const struct comm *comm, int source, int tag)
{
    /* The list's first link is the communicator's own, which is not const. */
    struct arrival **link = (struct arrival **)&comm->kept;

    while (*link && !fits(&(*link)->header, source, tag))
        link = &(*link)->next;
    return link;
}

const struct arrival *match_look(const struct comm *comm, int source, int tag)
{
    return *find(comm, source, tag);
}

struct arrival *match_kept(uint64_t context)
{
    const struct comm *comm = comm_with(context);

    return comm ? comm->kept : orphans;
}

static void drop(struct arrival **first, struct arrival ***end)
{
    while (*first) {
        struct arrival *arrival = *first;

        *first = arrival->next;
        unexpected_remove(arrival);
        receive_drop(arrival);
        free(arrival);
    }
    *end = first;
}

void match_forget(const struct domain *domain)
{
    struct arrival **link = &orphans;

    while (*link) {
        struct arrival *arrival = *link;

        if (arrival->domain != domain) {
            link = &arrival->next;
            continue;
        }
        *link = arrival->next;
        unexpected_remove(arrival);
        receive_drop(arrival);
        free(arrival);
    }
    orphans_end = link;
}

static void tell(const struct comm *comm)
{
    int n = 0;

    for (const struct arrival *arrival = comm->kept; arrival; arrival = arrival->next)
        n++;
    if (n > 0)
        wait_notice_left(comm, n, comm->kept->header.source, comm->kept->header.tag);
}

void match_close(void)
{
    struct arrival **unused;

    closed = true;
    for (struct comm *comm = comm_first(); comm; comm = comm->next)
        if (!comm->window) {
            tell(comm);
            drop(&comm->kept, &comm->kept_end);
        }
    drop(&orphans, &orphans_end);
    drop(&taken, &unused);
}

/* The oldest that fits; NULL: none. */
static struct arrival *unlink_kept(struct comm *comm, int source, int tag)
{
    struct arrival **link = find(comm, source, tag), *arrival = *link;

    if (!arrival)
        return NULL;
    *link = arrival->next;
    if (comm->kept_end == &arrival->next)
        comm->kept_end = link;
    unexpected_remove(arrival);
    return arrival;
}

void match_receive(struct gpubind_operation *receive)
{
    struct comm *comm = receive->comm;
    struct arrival *arrival = unlink_kept(comm, receive->rank, receive->tag);

    if (!arrival) {
        *comm->posted_end = receive;
        comm->posted_end = &receive->next;
        return;
    }
    receive_start(receive, arrival);
    free(arrival);
}

struct arrival *match_take(const struct comm *comm, int source, int tag)
{
    struct arrival *arrival = unlink_kept(comm_with(comm->context), source, tag);

    if (arrival) {
        arrival->next = taken;
        taken = arrival;
    }
    return arrival;
}

struct arrival *match_taken(void)
{
    return taken;
}

bool match_is_taken(const struct arrival *arrival)
{
    const struct arrival *other = taken;

    while (other && other != arrival)
        other = other->next;
    return other;
}

void match_receive_taken(struct gpubind_operation *receive, struct arrival *arrival)
{
    struct arrival **link = &taken;

    while (*link != arrival)
        link = &(*link)->next;
    *link = arrival->next;
    receive_start(receive, arrival);
    free(arrival);
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
    struct arrival *all = orphans;

    orphans = NULL;
    orphans_end = &orphans;
    while (all) {
        struct arrival *arrival = all;

        all = arrival->next;
        unexpected_remove(arrival);
        match_arrival(arrival);
        free(arrival);
    }
}

void match_clear(struct comm *comm)
{
    while (comm->kept) {
        struct arrival *arrival = comm->kept;

        comm->kept = arrival->next;
        unexpected_remove(arrival);
        free(arrival->data);
        free(arrival);
    }
    comm->kept_end = &comm->kept;
}
