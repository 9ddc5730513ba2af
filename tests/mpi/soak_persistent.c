/* Works of the soak whose messages go several times from the same memory into the same:
 * requests that hosts start, requests that streams start, messages on streams. */
#include <stdlib.h>

#include "tests/mpi/soak.h"

enum { TURNS = 4, REQUESTS = 4 };

static int behind(const struct work *work, int by)
{
    return (work->rank + work->size - by % work->size) % work->size;
}

/* ---- started by hosts, ended a step later */

struct started {
    int n;
    struct one {
        int by;
        uint64_t seed;
        struct layout layouts[2];
        struct slot out, in;
    } list[REQUESTS];
    gpubind_request requests[2 * REQUESTS]; /* receive, send; of each */
    struct pending pending;
};

static uint64_t seed_of(const struct one *one, int rank, int turn)
{
    return soak_seed(one->seed, 100 * rank + turn);
}

static void started_make(struct work *work)
{
    struct started *started = work->data = soak_zeros(1, sizeof *started);
    uint64_t *state = &work->state;

    started->n = 1 + below(state, REQUESTS);
    for (int i = 0; i < started->n; i++) {
        struct one *one = &started->list[i];
        const int n = soak_draw_twelves(state);

        one->by = below(state, work->size);
        one->seed = soak_seed(*state, i);
        for (int side = 0; side < 2; side++)
            one->layouts[side] = layout_draw(state, n);
        slot_make(&one->out, random_next(&work->own), one->layouts[0]);
        slot_make(&one->in, random_next(&work->own), one->layouts[1]);
        succeeds(gpubind_recv_init(slot_at(&one->in), one->layouts[1].count, one->layouts[1].type,
                                   behind(work, one->by), work->tag + i, work->comm,
                                   &started->requests[2 * i]),
                 "recv_init");
        succeeds(gpubind_send_init(slot_at(&one->out), one->layouts[0].count, one->layouts[0].type,
                                   (work->rank + one->by) % work->size, work->tag + i, work->comm,
                                   &started->requests[2 * i + 1]),
                 "send_init");
    }
}

static void started_begin(struct work *work, int turn)
{
    struct started *started = work->data;
    struct pending *pending = &started->pending;
    const bool together = below(&work->own, 2);

    for (int i = 0; i < started->n; i++) {
        slot_blank(&started->list[i].in);
        slot_fill(&started->list[i].out, seed_of(&started->list[i], work->rank, turn));
    }
    for (int i = 0; i < 2 * started->n; i++) {
        gpubind_request *place = pending_add(pending);

        *place = started->requests[i];
        if (!together)
            succeeds(gpubind_start(place), "start");
    }
    if (together)
        succeeds(gpubind_startall(pending->n, pending->requests), "startall");
}

static void started_end(struct work *work, int turn)
{
    struct started *started = work->data;

    pending_end(&started->pending, &work->own);
    for (int i = 0; i < started->n; i++) {
        struct one *one = &started->list[i];
        const int from = behind(work, one->by);

        status_is(&started->pending.statuses[2 * i], from, work->tag + i,
                  (MPI_Count)one->layouts[1].nbytes, "a persistent receive");
        slot_expect(&one->in, one->layouts[1].nbytes, seed_of(one, from, turn),
                    "turn %d of request %d from %d", turn, i, from);
    }
}

static void started_step(struct work *work, int step)
{
    if (step > 0)
        started_end(work, step - 1);
    if (step < TURNS)
        started_begin(work, step);
}

static void started_look(struct work *work)
{
    struct started *started = work->data;

    for (int i = 0; i < 2 * started->n; i++)
        succeeds(gpubind_request_free(&started->requests[i]), "request_free");
    for (int i = 0; i < started->n; i++)
        for (int side = 0; side < 2; side++) {
            slot_clear(side ? &started->list[i].in : &started->list[i].out);
            layout_clear(&started->list[i].layouts[side]);
        }
}

const struct kind soak_persistent = {
    "persistent", 3, SOAK_ANYWHERE, TURNS + 1, started_make, started_step, started_look};

/* ---- in streams: what is sent is put in place, and what came is taken away, by them */

struct piped {
    int by;
    uint64_t seed;
    struct layout layouts[2];
    struct slot out, in, staged[TURNS], results[TURNS];
    gpubind_request requests[2];
    int streams[2];
    bool by_host; /* the turn that is under way */
    struct pending pending;
};

static struct piped *piped_make(struct work *work)
{
    struct piped *piped = work->data = soak_zeros(1, sizeof *piped);
    uint64_t *state = &work->state;
    const int n = soak_draw_twelves(state);

    piped->by = below(state, work->size);
    piped->seed = soak_seed(*state, 0);
    for (int side = 0; side < 2; side++)
        piped->layouts[side] = layout_draw(state, n);
    slot_make_on_gpu(&piped->out, piped->layouts[0]);
    slot_make_on_gpu(&piped->in, piped->layouts[1]);
    for (int turn = 0; turn < TURNS; turn++) {
        slot_make_on_gpu(&piped->staged[turn], piped->layouts[0]);
        slot_make_on_gpu(&piped->results[turn], piped->layouts[1]);
        slot_fill(&piped->staged[turn], soak_seed(piped->seed, 100 * work->rank + turn));
    }
    piped->streams[0] = piped->streams[1] = below(state, SOAK_STREAMS);
    return piped;
}

static void piped_look(struct work *work)
{
    struct piped *piped = work->data;
    const int from = behind(work, piped->by);

    for (int turn = 0; turn < TURNS; turn++) {
        slot_expect(&piped->results[turn], piped->layouts[1].nbytes,
                    soak_seed(piped->seed, 100 * from + turn), "turn %d from %d on stream %d", turn,
                    from, piped->streams[1]);
        slot_clear(&piped->staged[turn]);
        slot_clear(&piped->results[turn]);
    }
    for (int side = 0; side < 2; side++) {
        if (piped->requests[side])
            succeeds(gpubind_request_free(&piped->requests[side]), "request_free");
        layout_clear(&piped->layouts[side]);
    }
    slot_clear(&piped->out);
    slot_clear(&piped->in);
}

static void piped_drain(const struct piped *piped)
{
    soak_drain(soak_streams[piped->streams[0]]);
    soak_drain(soak_streams[piped->streams[1]]);
}

static void channel_make(struct work *work)
{
    struct piped *piped = piped_make(work);
    const int to = (work->rank + piped->by) % work->size;

    succeeds(gpubind_send_init(slot_at(&piped->out), piped->layouts[0].count,
                               piped->layouts[0].type, to, work->tag + SOAK_TAGS / 2, work->comm,
                               &piped->requests[0]),
             "send_init");
    succeeds(gpubind_recv_init(slot_at(&piped->in), piped->layouts[1].count, piped->layouts[1].type,
                               behind(work, piped->by), work->tag + SOAK_TAGS / 2, work->comm,
                               &piped->requests[1]),
             "recv_init");
}

/* A turn that the host starts, whatever the other sides do; it ends a step later. */
static void channel_start(struct work *work)
{
    struct piped *piped = work->data;

    soak_drain(soak_streams[piped->streams[0]]);
    for (int i = 0; i < 2; i++)
        *pending_add(&piped->pending) = piped->requests[i];
    succeeds(gpubind_startall(2, piped->pending.requests), "startall");
    piped->by_host = true;
}

static void channel_end(struct work *work)
{
    struct piped *piped = work->data;

    pending_end(&piped->pending, &work->own);
    status_is(&piped->pending.statuses[1], behind(work, piped->by), work->tag + SOAK_TAGS / 2,
              (MPI_Count)piped->layouts[1].nbytes, "a turn by the host");
    piped->by_host = false;
}

static void channel_step(struct work *work, int step)
{
    struct piped *piped = work->data;
    struct CUstream_st *stream = soak_streams[piped->streams[0]];

    if (piped->by_host) {
        channel_end(work);
        slot_copy(&piped->results[step - 1], &piped->in, stream);
    }
    if (step == TURNS) {
        piped_drain(piped);
        return;
    }
    slot_copy(&piped->out, &piped->staged[step], stream);
    if (below(&work->own, 4) == 0) {
        channel_start(work);
        return;
    }
    succeeds(gpubind_startall_on_stream(2, piped->requests, stream), "startall_on_stream");
    slot_copy(&piped->results[step], &piped->in, stream);
}

const struct kind soak_channels = {
    "channels", 3, SOAK_ON_STREAMS, TURNS + 1, channel_make, channel_step, piped_look};

/* One stream that starts both and then waits for both, or one each for sends and receives. */
static void pipeline_make(struct work *work)
{
    struct piped *piped = piped_make(work);

    if (below(&work->state, 2)) {
        piped->streams[0] = 0;
        piped->streams[1] = 1;
    }
}

static void pipeline_step(struct work *work, int step)
{
    struct piped *piped = work->data;
    const int to = (work->rank + piped->by) % work->size, from = behind(work, piped->by);
    const struct layout *sent = &piped->layouts[0], *got = &piped->layouts[1];
    struct CUstream_st *first = soak_streams[piped->streams[0]],
                       *second = soak_streams[piped->streams[1]];
    const bool apart = piped->streams[0] != piped->streams[1];

    if (step == TURNS) {
        piped_drain(piped);
        return;
    }
    slot_copy(&piped->out, &piped->staged[step], first);
    succeeds((apart ? gpubind_send_on_stream : gpubind_isend_on_stream)(
                 slot_at(&piped->out), sent->count, sent->type, to, work->tag, work->comm, first),
             "send on a stream");
    succeeds((apart ? gpubind_recv_on_stream : gpubind_irecv_on_stream)(
                 slot_at(&piped->in), got->count, got->type, from, work->tag, work->comm, second),
             "receive on a stream");
    if (!apart)
        succeeds(gpubind_quiet_on_stream(first), "quiet");
    slot_copy(&piped->results[step], &piped->in, second);
}

const struct kind soak_pipelines = {
    "pipelines", 3, SOAK_ON_STREAMS, TURNS + 1, pipeline_make, pipeline_step, piped_look};
