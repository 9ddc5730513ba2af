/* Works of the soak about which message meets which receive: wildcards, receives that are
 * cancelled, and those with too little room. */
#include <stdlib.h>

#include "tests/mpi/soak.h"

enum { MESSAGES = 16, CANCELS = 8 };

/* ---- receives from any rank, of any tag: which message came, its status says */

struct wild {
    int from, to, tag;
    size_t nbytes;
    uint64_t seed;
    struct slot out, in; /* in: for whichever message comes */
    /* of the receive: */
    MPI_Status status;
    int waits;
    bool here; /* the message, not what came into its slot */
};

struct wilds {
    struct wild list[MESSAGES];
    int n;
    bool any_tag;
    struct pending pending;
};

static void wild_make(struct work *work)
{
    struct wilds *wilds = work->data = soak_zeros(1, sizeof *wilds);
    uint64_t *state = &work->state;
    size_t largest = 0;

    wilds->n = 1 + below(state, MESSAGES);
    wilds->any_tag = work->alone && below(state, 2);
    for (int i = 0; i < wilds->n; i++) {
        struct wild *wild = &wilds->list[i];

        *wild = (struct wild){.from = below(state, work->size),
                              .to = below(state, work->size),
                              .tag = work->tag + below(state, 3),
                              .nbytes = soak_draw_size(state),
                              .seed = soak_seed(*state, i),
                              .waits = -1};
        if (wild->nbytes > 1 << 20)
            wild->nbytes >>= 4;
        largest = wild->nbytes > largest ? wild->nbytes : largest;
    }
    for (int i = 0; i < wilds->n; i++) {
        struct wild *wild = &wilds->list[i];
        const unsigned draws[2] = {random_next(state), random_next(state)};

        if (wild->from == work->rank) {
            slot_make(&wild->out, draws[0], layout_dense(wild->nbytes));
            slot_fill(&wild->out, wild->seed);
        }
        if (wild->to == work->rank)
            slot_make(&wild->in, draws[1], layout_dense(largest));
    }
}

static void wild_send(struct work *work, const struct wild *wild)
{
    struct wilds *wilds = work->data;
    gpubind_request *request = pending_add(&wilds->pending);
    const int n = (int)wild->nbytes;

    if (below(&work->own, 2))
        succeeds(gpubind_isend(slot_at(&wild->out), n, MPI_BYTE, wild->to, wild->tag, work->comm,
                               request),
                 "isend");
    else
        succeeds(gpubind_issend(slot_at(&wild->out), n, MPI_BYTE, wild->to, wild->tag, work->comm,
                                request),
                 "issend");
}

static void wild_receive(struct work *work, struct wild *wild)
{
    struct wilds *wilds = work->data;
    const int tag = wilds->any_tag ? MPI_ANY_TAG : wild->tag, n = wild->in.layout.count;
    char *at = slot_at(&wild->in);
    struct gpubind_message seen;
    gpubind_matched matched;

    switch (below(&work->own, 4)) {
    case 0:
        succeeds(MPI_GPURecv(at, n, MPI_BYTE, MPI_ANY_SOURCE, tag, work->comm, &wild->status),
                 "recv");
        break;
    case 1:
        if (succeeds(gpubind_mprobe(MPI_ANY_SOURCE, tag, work->comm, &matched, &seen), "mprobe"))
            succeeds(gpubind_mrecv(at, n, MPI_BYTE, &matched, &wild->status), "mrecv");
        break;
    case 2:
        if (succeeds(gpubind_probe(MPI_ANY_SOURCE, tag, work->comm, &seen), "probe"))
            succeeds(MPI_GPURecv_c(at, seen.nbytes, MPI_BYTE, seen.source, seen.tag, work->comm,
                                   &wild->status),
                     "recv of what was probed");
        break;
    default:
        wild->waits = wilds->pending.n;
        succeeds(gpubind_irecv(at, n, MPI_BYTE, MPI_ANY_SOURCE, tag, work->comm,
                               pending_add(&wilds->pending)),
                 "irecv");
    }
}

static void wild_step(struct work *work, int step)
{
    struct wilds *wilds = work->data;

    for (int i = 0; step < 2 && i < wilds->n; i++) {
        struct wild *wild = &wilds->list[i];

        if (step == 0 && wild->from == work->rank)
            wild_send(work, wild);
        if (step == 1 && wild->to == work->rank)
            wild_receive(work, wild);
    }
    if (step == 2)
        pending_end(&wilds->pending, &work->own);
}

/* Of those from one rank with one tag the first receive that got one got the first. */
static void wild_came(struct work *work, struct wild *slot)
{
    struct wilds *wilds = work->data;
    MPI_Status *status = slot->waits < 0 ? &slot->status : &wilds->pending.statuses[slot->waits];
    int i = 0, n = -1;

    for (; i < wilds->n; i++) {
        const struct wild *wild = &wilds->list[i];

        if (wild->to == work->rank && !wild->here && wild->from == status->MPI_SOURCE &&
            wild->tag == status->MPI_TAG)
            break;
    }
    if (!expect(i < wilds->n, "a message from %d with tag %d that nobody sent", status->MPI_SOURCE,
                status->MPI_TAG))
        return;
    wilds->list[i].here = true;
    MPI_Get_count(status, MPI_BYTE, &n);
    is_int(n, (long long)wilds->list[i].nbytes, "bytes of a message from anywhere");
    slot_expect(&slot->in, wilds->list[i].nbytes, wilds->list[i].seed,
                "message %d from rank %d, tag %d, from anywhere", i, status->MPI_SOURCE,
                status->MPI_TAG);
}

static void wild_look(struct work *work)
{
    struct wilds *wilds = work->data;

    for (int i = 0; i < wilds->n; i++) {
        struct wild *wild = &wilds->list[i];

        if (wild->to == work->rank)
            wild_came(work, wild);
        slot_clear(&wild->out);
        slot_clear(&wild->in);
    }
}

const struct kind soak_wildcards = {"wildcards", 3,         SOAK_ANYWHERE, 3,
                                    wild_make,   wild_step, wild_look};

/* ---- receives that are cancelled, some before and some after their message was sent */

struct cancel {
    int from, to, tag, cancelled_at; /* the step */
    bool sent, cancelled;
    size_t nbytes;
    uint64_t seed;
    struct slot out, in;
    gpubind_request send, receive;
};

struct cancels {
    struct cancel list[CANCELS];
};

static void cancel_make(struct work *work)
{
    struct cancels *cancels = work->data = soak_zeros(1, sizeof *cancels);
    uint64_t *state = &work->state;

    for (int i = 0; i < CANCELS; i++) {
        struct cancel *cancel = &cancels->list[i];
        const unsigned draws[2] = {random_next(state), random_next(state)};

        *cancel = (struct cancel){.from = below(state, work->size),
                                  .to = below(state, work->size),
                                  .tag = work->tag + i,
                                  .cancelled_at = below(state, 3),
                                  .sent = below(state, 2),
                                  .nbytes = soak_draw_size(state) / 2,
                                  .seed = soak_seed(*state, i)};
        if (cancel->from == work->rank) {
            slot_make(&cancel->out, draws[0], layout_dense(cancel->nbytes));
            slot_fill(&cancel->out, cancel->seed);
        }
        if (cancel->to == work->rank)
            slot_make(&cancel->in, draws[1], layout_dense(cancel->nbytes));
    }
}

static void cancel_now(struct work *work, struct cancel *cancel, int step)
{
    MPI_Status status;
    int cancelled = 0;

    succeeds(gpubind_cancel(&cancel->receive), "cancel");
    if (!succeeds(gpubind_wait(&cancel->receive, &status), "wait for what was cancelled"))
        return;
    MPI_Test_cancelled(&status, &cancelled);
    cancel->cancelled = cancelled;
    expect(cancelled || (cancel->sent && (step > 0 || cancel->from != work->rank)),
           "a receive that has no message is not cancelled");
    if (!cancelled)
        status_is(&status, cancel->from, cancel->tag, (MPI_Count)cancel->nbytes, "not cancelled");
}

/* The message that a cancelled receive did not get goes to the next one. */
static void cancel_finish(struct work *work, struct cancel *cancel)
{
    MPI_Status status;

    if (cancel->to == work->rank && cancel->sent && cancel->cancelled &&
        succeeds(MPI_GPURecv(slot_at(&cancel->in), (int)cancel->nbytes, MPI_BYTE, cancel->from,
                             cancel->tag, work->comm, &status),
                 "receive instead of the cancelled one"))
        status_is(&status, cancel->from, cancel->tag, (MPI_Count)cancel->nbytes, "instead");
}

static void cancel_step(struct work *work, int step)
{
    struct cancels *cancels = work->data;

    for (int i = 0; i < CANCELS; i++) {
        struct cancel *cancel = &cancels->list[i];
        const bool sends = cancel->from == work->rank, receives = cancel->to == work->rank;
        const int n = (int)cancel->nbytes;

        if (step == 0 && receives)
            succeeds(gpubind_irecv(slot_at(&cancel->in), n, MPI_BYTE, cancel->from, cancel->tag,
                                   work->comm, &cancel->receive),
                     "irecv");
        if (step == 1 && sends && cancel->sent)
            succeeds(gpubind_isend(slot_at(&cancel->out), n, MPI_BYTE, cancel->to, cancel->tag,
                                   work->comm, &cancel->send),
                     "isend");
        if (step == cancel->cancelled_at && receives)
            cancel_now(work, cancel, step);
        if (step == 3)
            cancel_finish(work, cancel);
    }
    for (int i = 0; step == 3 && i < CANCELS; i++)
        succeeds(gpubind_wait(&cancels->list[i].send, MPI_STATUS_IGNORE), "wait for a send");
}

static void cancel_look(struct work *work)
{
    struct cancels *cancels = work->data;

    for (int i = 0; i < CANCELS; i++) {
        struct cancel *cancel = &cancels->list[i];

        if (cancel->to == work->rank)
            slot_expect(&cancel->in, cancel->sent ? cancel->nbytes : 0, cancel->seed,
                        "message %d from %d, %s cancelled at step %d%s", i, cancel->from,
                        cancel->cancelled ? "" : "not", cancel->cancelled_at,
                        cancel->sent ? "" : ", never sent");
        slot_clear(&cancel->out);
        slot_clear(&cancel->in);
    }
}

const struct kind soak_cancels = {"cancels",   2,           SOAK_ANYWHERE, 4,
                                  cancel_make, cancel_step, cancel_look};
