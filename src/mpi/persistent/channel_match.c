/* Which requests are counterparts: numbers of requests by peer and tag, and CONNECT messages
 * of peers whose counterpart is not set up here yet. */
#include <stdlib.h>

#include "core/base/list.h"
#include "mpi/persistent/channel.h"

/* A CONNECT message that is kept until its counterpart is set up. */
struct early {
    struct early *next;
    struct comm *comm;
    int rank;
    struct ctrl_msg msg;
};

/* How many requests of one kind were set up with a peer and a tag; those of captured calls apart. */
struct envelope {
    struct envelope *next;
    const struct comm *comm;
    int rank, tag;
    bool send, of_capture;
    uint32_t n;
};

#define BUCKETS 256u

static QUEUE_OF(struct early) earlies;
static struct envelope *envelopes[BUCKETS];

static struct envelope **envelope_at(const struct envelope *wanted)
{
    const unsigned hash = (unsigned)wanted->tag * 31u + (unsigned)wanted->rank * 7u + wanted->send;
    struct envelope **link = &envelopes[(hash ^ hash >> 8) % BUCKETS];

    while (*link && ((*link)->comm != wanted->comm || (*link)->rank != wanted->rank ||
                     (*link)->tag != wanted->tag || (*link)->send != wanted->send ||
                     (*link)->of_capture != wanted->of_capture))
        link = &(*link)->next;
    return link;
}

static uint32_t count(const struct envelope *wanted)
{
    const struct envelope *envelope = *envelope_at(wanted);

    return envelope ? envelope->n : 0;
}

static uint32_t next_index(const struct channel *channel)
{
    const struct gpubind_operation *request = channel->request;
    const struct envelope wanted = {.comm = request->comm,
                                    .rank = request->rank,
                                    .tag = request->tag,
                                    .send = channel_sends(channel),
                                    .of_capture = channel->of_capture};
    struct envelope **link = envelope_at(&wanted);

    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (!*link)
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
        **link = wanted;
    }
    return ++(*link)->n;
}

static void forget_envelopes(const struct comm *comm)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct envelope **link = &envelopes[i]; *link;) {
            struct envelope *envelope = *link;

            if (envelope->comm != comm) {
                link = &envelope->next;
                continue;
            }
            *link = envelope->next;
            free(envelope);
        }
}

static void drop(struct early **link)
{
    struct early *early = *link;

    QUEUE_UNLINK(&earlies, link, next);
    free(early);
}

bool channel_drop_early_connect(const struct comm *comm, int rank, uint32_t id)
{
    for (struct early **link = &earlies.first; *link; link = &(*link)->next)
        if ((*link)->comm == comm && (*link)->rank == rank && (*link)->msg.from == id) {
            drop(link);
            return true;
        }
    return false;
}

static void keep(struct comm *comm, int rank, const struct ctrl_msg *msg)
{
    struct early *early = calloc(1, sizeof *early);

    if (!early)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *early = (struct early){NULL, comm, rank, *msg};
    QUEUE_PUSH(&earlies, early, next);
}

static bool fits(const struct channel *channel, const struct comm *comm, int rank,
                 const struct ctrl_msg *msg)
{
    const struct gpubind_operation *request = channel->request;

    return channel->index == msg->index && request->comm == comm && request->rank == rank &&
           request->tag == msg->tag && channel_sends(channel) != (msg->send != 0) &&
           channel->of_capture == (msg->of_capture != 0);
}

struct channel *channel_match(struct comm *comm, int rank, const struct ctrl_msg *msg, bool *early)
{
    const struct envelope wanted = {.comm = comm,
                                    .rank = rank,
                                    .tag = msg->tag,
                                    .send = !msg->send,
                                    .of_capture = msg->of_capture};
    struct channel *channel = channels_first();

    while (channel && !fits(channel, comm, rank, msg))
        channel = channel->next;
    *early = !channel && count(&wanted) < msg->index;
    if (*early)
        keep(comm, rank, msg);
    return channel;
}

static void find_early(struct channel *channel)
{
    for (struct early **link = &earlies.first; *link; link = &(*link)->next) {
        const struct early *early = *link;
        const struct ctrl_msg msg = early->msg;

        if (!fits(channel, early->comm, early->rank, &msg))
            continue;
        drop(link);
        channel_connect_came(channel, &msg);
        return;
    }
}

void channel_register(struct channel *channel)
{
    static uint32_t last_id;

    last_id = last_id % INT32_MAX + 1;
    channel->id = last_id;
    if (channel->request->rank < 0 || channel->request->tag == MPI_ANY_TAG)
        return;
    channel->index = next_index(channel);
    find_early(channel);
}

void channels_forget(const struct comm *comm)
{
    struct early **link = &earlies.first;

    while (*link)
        if ((*link)->comm == comm)
            drop(link);
        else
            link = &(*link)->next;
    forget_envelopes(comm);
}
