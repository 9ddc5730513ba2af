/* Messages of all forms on either side, with wildcards, in one order that all ranks keep. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/soak_messages.h"

enum { MESSAGES = 18, PARTS = 3 /* of them, a step each */, PATIENCE = 30 /* seconds */ };

struct messages {
    struct message list[MESSAGES];
    int n;
    bool any_source;
    struct pending pending;
};

static void draw_data(struct message *message, uint64_t *state)
{
    if (below(state, 3)) {
        message->sent = message->got = layout_dense(soak_draw_size(state));
    } else {
        const int n = soak_draw_twelves(state);

        message->sent = layout_draw(state, n);
        message->got = layout_draw(state, n);
    }
}

/* What a rank cannot do it does by another call, which fits the other side as well. */
static void adapt(struct message *message)
{
    if (message->receive == RECV_ALLOC && !gpu_count)
        message->receive = PROBE;
    if (soak_can_stream)
        return;
    if (message->send == ISEND_ON_STREAM || message->send == SEND_ON_STREAM)
        message->send = ISEND;
    if (message->receive >= IRECV_ON_STREAM)
        message->receive = IRECV;
}

static void draw(struct work *work, struct message *message, int i)
{
    const struct messages *messages = work->data;
    uint64_t *state = &work->state;

    message->seed = soak_seed(*state, i);
    message->from = below(state, work->size);
    message->to = below(state, work->size);
    if (messages->any_source) /* of two ranks: from the other one */
        message->to = 1 - message->from;
    message->tag = work->tag + below(state, 3);
    message->source = messages->any_source && below(state, 3) == 0 ? MPI_ANY_SOURCE : message->from;
    message->wanted = work->alone && below(state, 4) == 0 ? MPI_ANY_TAG : message->tag;
    message->send = (enum send_form)below(state, message->to == message->from ? SEND : SENDS);
    message->receive = (enum receive_form)below(state, RECEIVES);
    message->send_stream = below(state, SOAK_STREAMS);
    message->receive_stream = below(state, SOAK_STREAMS);
    message->waits = -1;
    draw_data(message, state);
    adapt(message);
}

static void make(struct work *work)
{
    struct messages *messages = work->data = soak_zeros(1, sizeof *messages);
    uint64_t *state = &work->state;
    size_t nbytes = 0;

    messages->n = 1 + below(state, MESSAGES);
    messages->any_source = work->alone && work->size == 2 && below(state, 2);
    for (int i = 0; i < messages->n; i++) {
        struct message *message = &messages->list[i];
        const unsigned draws[2] = {random_next(state), random_next(state)};

        draw(work, message, i);
        nbytes += message->sent.nbytes;
        if (message->from == work->rank) {
            slot_make(&message->out, draws[0], message->sent);
            slot_fill(&message->out, message->seed);
        }
        if (message->to == work->rank)
            slot_make(&message->in, draws[1], message->got);
        if (nbytes > SOAK_LARGEST)
            messages->n = i + 1;
    }
}

static void take_part(struct work *work, int part)
{
    struct messages *messages = work->data;
    const int n = (messages->n + PARTS - 1) / PARTS;

    for (int i = part * n; i < messages->n && i < (part + 1) * n; i++) {
        struct message *message = &messages->list[i];

        if (message->from == work->rank)
            succeeds(message_send(message, work->comm, &messages->pending),
                     "%s of message %d, %zu bytes", send_names[message->send], i,
                     message->sent.nbytes);
        if (message->to == work->rank)
            succeeds(message_receive(message, work->comm, &messages->pending),
                     "%s of message %d, %zu bytes", receive_names[message->receive], i,
                     message->sent.nbytes);
    }
}

/* Nobody tells when a receive has ended whose request was freed. */
static void wait_for_freed(const struct message *message)
{
    const double start = MPI_Wtime();

    while (!slot_holds(&message->in, message->sent.nbytes, message->seed) &&
           MPI_Wtime() - start < PATIENCE) {
        succeeds(gpubind_progress(), "progress");
        sched_yield();
    }
}

static void finish(struct work *work)
{
    struct messages *messages = work->data;

    if (soak_can_stream)
        for (int i = 0; i < SOAK_STREAMS; i++) {
            succeeds(gpubind_quiet_on_stream(soak_streams[i]), "quiet");
            soak_drain(soak_streams[i]);
        }
    pending_end(&messages->pending, &work->own);
    for (int i = 0; i < messages->n; i++) {
        struct message *message = &messages->list[i];

        if (message->to == work->rank && message->waits >= 0)
            message_status(message, &messages->pending.statuses[message->waits]);
        if (message->to == work->rank && message->receive == IRECV_FREED)
            wait_for_freed(message);
    }
}

static void step(struct work *work, int number)
{
    if (number < PARTS)
        take_part(work, number);
    else
        finish(work);
}

/* What recv_alloc made is dense. */
static void look_at_made(const struct message *message, int i)
{
    char *wanted = soak_zeros(1, message->sent.nbytes + 1),
         *got = soak_zeros(1, message->sent.nbytes + 1);

    bytes_of_seed(wanted, message->sent.nbytes, message->seed);
    gpu_get(got, message->made, message->sent.nbytes);
    expect(memcmp(wanted, got, message->sent.nbytes) == 0,
           "message %d of %zu bytes by %s: wrong bytes in new memory", i, message->sent.nbytes,
           send_names[message->send]);
    free(wanted);
    free(got);
    soak_count++;
    succeeds(gpubind_free(message->made), "free");
}

static void clear(struct message *message)
{
    for (int i = 0; i < 2; i++)
        if (message->requests[i])
            succeeds(gpubind_request_free(&message->requests[i]), "request_free");
    slot_clear(&message->out);
    slot_clear(&message->in);
    layout_clear(&message->sent);
    layout_clear(&message->got);
}

static void look(struct work *work)
{
    struct messages *messages = work->data;

    for (int i = 0; i < messages->n; i++) {
        struct message *message = &messages->list[i];

        if (message->to == work->rank && message->receive == RECV_ALLOC)
            look_at_made(message, i);
        else if (message->to == work->rank)
            slot_expect(&message->in, message->sent.nbytes, message->seed,
                        "message %d from rank %d, %s met %s%s", i, message->from,
                        receive_names[message->receive], send_names[message->send],
                        message->sent.derived ? " of a derived type" : "");
        clear(message);
    }
}

const struct kind soak_messages = {"messages", 6, SOAK_ANYWHERE, PARTS + 1, make, step, look};
