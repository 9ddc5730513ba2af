/* How persistent requests become channels: what the two sides tell each other; see pairs.h. */
#include <stdlib.h>

#include "mpi/core/progress.h"
#include "mpi/core/trace.h"
#include "mpi/p2p/incoming.h"
#include "mpi/persistent/channel.h"
#include "mpi/persistent/exchange_streams.h"
#include "mpi/persistent/persistent.h"

/* CONNECT of a request whose counterpart is not set up here yet. */
struct early {
    struct early *next;
    struct comm *comm;
    int rank;
    struct pair_letter letter;
};

/* How many requests of a kind were set up with a peer and a tag. */
struct envelope {
    struct envelope *next;
    const struct comm *comm;
    int rank, tag;
    bool send;
    uint32_t n;
};

#define BUCKETS 256u

static struct early *earlies, **earlies_end = &earlies;
static struct envelope *envelopes[BUCKETS];

/* ---- numbers */

static struct envelope **envelope_at(const struct comm *comm, int rank, int tag, bool send)
{
    const unsigned hash = (unsigned)tag * 31u + (unsigned)rank * 7u + send;
    struct envelope **link = &envelopes[(hash ^ hash >> 8) % BUCKETS];

    while (*link && ((*link)->comm != comm || (*link)->rank != rank || (*link)->tag != tag ||
                     (*link)->send != send))
        link = &(*link)->next;
    return link;
}

static uint32_t count(const struct comm *comm, int rank, int tag, bool send)
{
    const struct envelope *envelope = *envelope_at(comm, rank, tag, send);

    return envelope ? envelope->n : 0;
}

static uint32_t number(const struct gpubind_operation *request)
{
    const bool send = request->kind == OPERATION_SEND;
    struct envelope **link = envelope_at(request->comm, request->rank, request->tag, send);

    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (!*link)
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
        **link = (struct envelope){NULL, request->comm, request->rank, request->tag, send, 0};
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

/* ---- to the other side */

void pair_tell(struct pair *pair, enum letter_kind kind, bool bad)
{
    static const char *const words[] = {"CONNECT", "LATER", "READY", "DISCONNECT"};
    struct pair_letter letter = {.kind = kind, .from = pair->number, .to = pair->others,
                                 .bad = bad};

    letter.counted = !pair->captured;
    letter.starts = pair->starts;
    if (kind == LETTER_CONNECT) {
        letter.send = pair_sends(pair);
        letter.tag = pair->request->tag;
        letter.index = pair->index;
        letter.offered = pair->mine;
        pair->said = true;
    }
    trace_debug(TRACE_PERSISTENT, "request %u, %s rank %d, tag %d: %s%s",
                pair->request->number, pair_sends(pair) ? "to" : "from", pair->request->rank,
                pair->request->tag, words[kind], bad ? ", bad" : "");
    letter_send(pair->request->comm, pair->request->rank, &letter);
}

static void answer(struct comm *comm, int rank, uint32_t to, enum letter_kind kind)
{
    const struct pair_letter letter = {.kind = kind, .to = to, .counted = 1};

    letter_send(comm, rank, &letter);
}

void pair_connect(struct pair *pair)
{
    if (pair->state == PAIR_ALONE && !pair->said)
        pair_tell(pair, LETTER_CONNECT, false);
}

/* A start would take it, whatever the sender answers. */
static bool has_message(const struct pair *pair)
{
    const struct gpubind_operation *request = pair->request;

    return !pair_sends(pair) && match_look(request->comm, request->rank, request->tag);
}

bool pair_awaits(const struct pair *pair)
{
    if (pair->state == PAIR_ALONE)
        return pair->said && !pair->told && !has_message(pair);
    return pair->state == PAIR_LINKING &&
           (pair_sends(pair) ? !pair->told : pair->agreed && !has_message(pair));
}

/* ---- connecting */

static void stay_apart(struct pair *pair)
{
    link_close(pair);
    pair->state = PAIR_APART;
    pair->parted = true;
}

/* A send: the receiver has said whether it reaches this side, and this one does. */
static void finish_send(struct pair *pair, bool good)
{
    pair_tell(pair, LETTER_READY, !good);
    if (!good) {
        stay_apart(pair);
        return;
    }
    pair->state = PAIR_LINKED;
    trace_debug(TRACE_PERSISTENT, "request %u: connected", pair->request->number);
    pair->linked = true;
}

/* A receive: what its host has posted is the first on the channel. */
static void finish_receive(struct pair *pair, bool good)
{
    if (!good) {
        stay_apart(pair);
        return;
    }
    pair->since = pair->answered;
    pair->state = PAIR_LINKED;
    trace_debug(TRACE_PERSISTENT, "request %u: connected", pair->request->number);
    pair->linked = true;
    if (pair->inner)
        persistent_move(pair);
}

void pair_decide(struct pair *pair)
{
    const int come = pair->answer;

    if (pair->starting > 0 || pair->state != PAIR_LINKING)
        return;
    if (!pair_sends(pair) && !pair->agreed && pair->streamed == 0) {
        pair->agreed = true;
        pair_tell(pair, LETTER_READY, !pair->reached);
    }
    pair->answer = 0;
    if (come && pair_sends(pair))
        finish_send(pair, pair->reached && come > 0);
    else if (come)
        finish_receive(pair, come > 0);
}

static void meet(struct pair *pair, const struct pair_letter *letter)
{
    const struct offered *other = &letter->offered;
    const uint64_t sent = pair_sends(pair) ? pair->mine.nbytes : other->nbytes;
    const uint64_t room = pair_sends(pair) ? other->nbytes : pair->mine.nbytes;

    pair->met = true;
    pair->others = letter->from;
    pair->others_nbytes = other->nbytes;
    if (!pair->said)
        pair_tell(pair, LETTER_CONNECT, false);
    if (sent > room || !link_may_be(pair, other)) { /* the other side finds the same */
        stay_apart(pair);
        return;
    }
    pair->state = PAIR_LINKING;
    pair->reached = link_open(pair, other);
    pair_decide(pair);
    if (!pair_sends(pair) && !pair->agreed)
        pair_tell(pair, LETTER_LATER, false);
}

static struct pair *find(struct comm *comm, int rank, const struct pair_letter *letter)
{
    struct pair *pair = pairs_first();

    while (pair && (pair->index != letter->index || pair->request->comm != comm ||
                    pair->request->rank != rank || pair->request->tag != letter->tag ||
                    pair_sends(pair) == (letter->send != 0)))
        pair = pair->next;
    return pair;
}

static void keep(struct comm *comm, int rank, const struct pair_letter *letter)
{
    struct early *early = calloc(1, sizeof *early);

    if (!early)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *early = (struct early){NULL, comm, rank, *letter};
    *earlies_end = early;
    earlies_end = &early->next;
}

static void take_connect(struct comm *comm, int rank, const struct pair_letter *letter)
{
    struct pair *pair = find(comm, rank, letter);

    if (!pair && count(comm, rank, letter->tag, !letter->send) < letter->index) {
        keep(comm, rank, letter);
        answer(comm, rank, letter->from, LETTER_LATER);
    } else if (!pair || pair->state != PAIR_ALONE) {
        answer(comm, rank, letter->from, LETTER_DISCONNECT);
    } else {
        meet(pair, letter);
    }
}

static void drop_early(struct early **link)
{
    struct early *early = *link;

    *link = early->next;
    if (!early->next)
        earlies_end = link;
    free(early);
}

/* What its counterpart has said before it was set up. */
static void find_early(struct pair *pair)
{
    for (struct early **link = &earlies; *link; link = &(*link)->next) {
        const struct early *early = *link;
        const struct pair_letter letter = early->letter;

        if (find(early->comm, early->rank, &letter) != pair)
            continue;
        drop_early(link);
        if (pair->state == PAIR_ALONE)
            meet(pair, &letter);
        else
            answer(pair->request->comm, pair->request->rank, letter.from, LETTER_DISCONNECT);
        return;
    }
}

void pair_introduce(struct pair *pair)
{
    static uint32_t given;

    given = given % INT32_MAX + 1;
    pair->number = given;
    if (pair->request->rank < 0 || pair->request->tag == MPI_ANY_TAG)
        return;
    pair->index = number(pair->request);
    find_early(pair);
}

static void take_ready(struct pair *pair, const struct pair_letter *letter)
{
    if (pair->state != PAIR_LINKING)
        return;
    pair->answer = letter->bad ? -1 : 1;
    pair->answered = letter->sequence;
    pair_decide(pair);
}

/* ---- disconnecting */

void pair_drop_message(struct pair *pair)
{
    struct gpubind_operation *inner = pair->inner;

    pair->inner = NULL;
    if (!inner)
        return;
    if (!inner->done && inner->kind == OPERATION_RECEIVE)
        match_withdraw(inner);
    operation_forget(inner);
}

void pair_let_go(struct pair *pair)
{
    struct gpubind_operation *request = pair->request;

    tracks_drop(pair);
    link_break_here(pair);
    pair->unsaid = pair->in_stream && request->done; /* else a wait says it */
    if (!request->done && !pair->inner)
        operation_end(request, MPI_ERR_OTHER, "%s", pair->why.text);
}

static void take_failure(struct pair *pair)
{
    const struct gpubind_operation *request = pair->request;

    error_set(&pair->why, "the persistent message with rank %d and tag %d has failed there",
              request->rank, request->tag);
    pair_let_go(pair);
    pair->state = PAIR_OVER;
}

/* What it has started is done, or on its way as messages; what this side has started beyond
 * that on the channel has nothing to meet, and later starts are messages. Where graphs made
 * uncounted starts, all until now are taken for good. */
static void take_farewell(struct pair *pair, const struct pair_letter *letter)
{
    const struct gpubind_operation *request = pair->request;

    if (pair->state != PAIR_LINKED) {
        stay_apart(pair);
        return;
    }
    error_set(&pair->why, "rank %d has freed its side of the persistent message with tag %d",
              request->rank, request->tag);
    pair->limited = true;
    pair->last = letter->counted && !pair->captured ? letter->starts : pair->starts;
    if (pair_is_spent(pair, 0))
        pair_let_go(pair);
}

static void take_disconnect(struct pair *pair, const struct pair_letter *letter)
{
    pair->parted |= !letter->bad;
    if (pair->state != PAIR_OVER) { /* what was said first counts */
        if (letter->bad)
            take_failure(pair);
        else
            take_farewell(pair, letter);
    }
    pair_settle(pair);
}

/* One that was freed before it knew its counterpart. */
static struct pair *find_unknown(struct comm *comm, int rank, uint32_t from)
{
    struct pair *pair = pairs_first();

    for (struct early **link = &earlies; *link; link = &(*link)->next)
        if ((*link)->comm == comm && (*link)->rank == rank && (*link)->letter.from == from) {
            drop_early(link);
            return NULL;
        }
    while (pair && (!pair->met || pair->others != from || pair->request->comm != comm ||
                    pair->request->rank != rank))
        pair = pair->next;
    return pair;
}

/* ---- what comes */

static void take(struct comm *comm, int rank, const struct pair_letter *letter)
{
    struct pair *pair = pairs_first();

    if (letter->kind == LETTER_CONNECT) {
        take_connect(comm, rank, letter);
        return;
    }
    if (letter->to == 0)
        pair = find_unknown(comm, rank, letter->from);
    while (pair && letter->to != 0 && pair->number != letter->to)
        pair = pair->next;
    if (!pair) /* freed meanwhile */
        return;
    if (letter->kind == LETTER_LATER)
        pair->told = true;
    else if (letter->kind == LETTER_READY)
        take_ready(pair, letter);
    else
        take_disconnect(pair, letter);
}

void pairs_listen(void)
{
    letters_read(take);
}

bool pairs_hear(void)
{
    incoming_read_all();
    pairs_listen();
    return !letters_coming();
}

void pairs_forget(const struct comm *comm)
{
    struct early **link = &earlies;

    while (*link)
        if ((*link)->comm == comm)
            drop_early(link);
        else
            link = &(*link)->next;
    forget_envelopes(comm);
}
