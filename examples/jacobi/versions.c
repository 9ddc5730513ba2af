#include "versions.h"

enum { TO_NORTH, TO_SOUTH }; /* tags */

void wait_for_event(gpu_event event)
{
    while (!gpu_reached(event))
        gpubind_progress();
}

void wait_for_stream(gpu_stream stream)
{
    while (!gpu_is_idle(stream))
        gpubind_progress();
}

/* The stream goes on after the last kernel of the other one. */
static void after(const struct job *job, int stream, int other)
{
    gpu_after(job->stream[stream], job->computed[other]);
}

static void compute(struct job *job, struct step step, int stream, struct rows rows,
                    enum span_kind kind)
{
    gpu_stream in = job->stream[stream];

    if (rows.count < 1)
        return;
    if (step.change >= 0) /* its last sum was fetched */
        gpu_after(in, job->collected[step.change]);
    timeline_begin(&job->timeline, kind, stream, in);
    job->compute->rows(step.from, rows, step.change, stream, in);
    timeline_end(&job->timeline, in);
    gpu_record(job->computed[stream], in);
}

static struct rows all_rows(const struct job *job)
{
    return (struct rows){1, 1, job->strip.rows};
}

/* Those that the neighbours need: two, or the only one. */
static struct rows edge_rows(const struct job *job)
{
    const int rows = job->strip.rows;

    return (struct rows){1, rows > 1 ? rows - 1 : 1, rows > 1 ? 2 : 1};
}

static struct rows inner_rows(const struct job *job)
{
    return (struct rows){2, 1, job->strip.rows - 2};
}

/* ---- a: compute, send, receive, one after the other */

static void exchange_blocking(const struct job *job, int array)
{
    const struct strip *s = &job->strip;
    const int last = s->rows;

    gpubind_sendrecv(strip_row(s, array, 1), s->columns, s->type, job->north, TO_NORTH,
                     strip_row(s, array, last + 1), s->columns, s->type, job->south, TO_NORTH,
                     job->comm, MPI_STATUS_IGNORE);
    gpubind_sendrecv(strip_row(s, array, last), s->columns, s->type, job->south, TO_SOUTH,
                     strip_row(s, array, 0), s->columns, s->type, job->north, TO_SOUTH, job->comm,
                     MPI_STATUS_IGNORE);
}

static void step_blocking(struct job *job, struct step step)
{
    wait_for_stream(job->stream[INNER]);
    timeline_begin(&job->timeline, SPAN_EXCHANGE, LANE_HOST, NULL);
    if (job->exchange)
        exchange_blocking(job, step.from);
    timeline_end(&job->timeline, NULL);
    compute(job, step, INNER, all_rows(job), SPAN_WHOLE);
}

/* ---- b: receives are posted first, both directions go at once */

static void post_receives(const struct job *job, int array, gpubind_request requests[2])
{
    const struct strip *s = &job->strip;

    gpubind_irecv(strip_row(s, array, 0), s->columns, s->type, job->north, TO_SOUTH, job->comm,
                  &requests[0]);
    gpubind_irecv(strip_row(s, array, s->rows + 1), s->columns, s->type, job->south, TO_NORTH,
                  job->comm, &requests[1]);
}

static void post_sends(const struct job *job, int array, gpubind_request requests[2])
{
    const struct strip *s = &job->strip;

    gpubind_isend(strip_row(s, array, 1), s->columns, s->type, job->north, TO_NORTH, job->comm,
                  &requests[0]);
    gpubind_isend(strip_row(s, array, s->rows), s->columns, s->type, job->south, TO_SOUTH,
                  job->comm, &requests[1]);
}

static void step_nonblocking(struct job *job, struct step step)
{
    gpubind_request requests[4];

    if (job->exchange)
        post_receives(job, step.from, requests);
    wait_for_stream(job->stream[INNER]);
    timeline_begin(&job->timeline, SPAN_EXCHANGE, LANE_HOST, NULL);
    if (job->exchange) {
        post_sends(job, step.from, requests + 2);
        gpubind_waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    timeline_end(&job->timeline, NULL);
    compute(job, step, INNER, all_rows(job), SPAN_WHOLE);
}

/* ---- c: the edges first; they travel while the inner rows are computed */

static void compute_edges_first(struct job *job, struct step step)
{
    after(job, NORTH, INNER);
    after(job, INNER, NORTH);
    compute(job, step, NORTH, edge_rows(job), SPAN_BOUNDARY);
}

static void step_boundary(struct job *job, struct step step)
{
    const int to = 1 - step.from;
    gpubind_request requests[4];

    if (job->exchange)
        post_receives(job, to, requests);
    compute_edges_first(job, step);
    compute(job, step, INNER, inner_rows(job), SPAN_INTERIOR);
    wait_for_stream(job->stream[NORTH]);
    timeline_begin(&job->timeline, SPAN_EXCHANGE, LANE_HOST, NULL);
    if (job->exchange) {
        post_sends(job, to, requests + 2);
        gpubind_waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    timeline_end(&job->timeline, NULL);
}

/* ---- d: each edge and its messages in a stream of their own; the host waits for nothing */

static void exchange_in_stream(struct job *job, int stream, int array)
{
    const struct strip *s = &job->strip;
    const int north = stream == NORTH, neighbor = north ? job->north : job->south;
    void *edge = strip_row(s, array, north ? 1 : s->rows);
    void *ghost = strip_row(s, array, north ? 0 : s->rows + 1);
    gpu_stream in = job->stream[stream];

    timeline_begin(&job->timeline, SPAN_EXCHANGE, stream, in);
    if (job->exchange)
        gpubind_sendrecv_on_stream(edge, s->columns, s->type, neighbor, north ? TO_NORTH : TO_SOUTH,
                                   ghost, s->columns, s->type, neighbor,
                                   north ? TO_SOUTH : TO_NORTH, job->comm, in);
    timeline_end(&job->timeline, in);
    gpu_record(job->exchanged[stream], in);
}

static void step_streams(struct job *job, struct step step)
{
    const int to = 1 - step.from, last = job->strip.rows;

    after(job, NORTH, INNER);
    after(job, SOUTH, INNER);
    after(job, INNER, NORTH);
    after(job, INNER, SOUTH);
    if (last < 3) { /* the edges lie side by side, or are the same row */
        after(job, NORTH, SOUTH);
        after(job, SOUTH, NORTH);
        gpu_after(job->stream[NORTH], job->exchanged[SOUTH]);
    }
    compute(job, step, NORTH, (struct rows){1, 1, 1}, SPAN_BOUNDARY);
    compute(job, step, SOUTH, (struct rows){last, 1, last > 1}, SPAN_BOUNDARY);
    if (last == 1)
        after(job, SOUTH, NORTH);
    exchange_in_stream(job, NORTH, to);
    exchange_in_stream(job, SOUTH, to);
    compute(job, step, INNER, inner_rows(job), SPAN_INTERIOR);
}

/* ---- e: the halo exchange of the library beside the inner rows */

static void start_halo(struct job *job)
{
    const struct strip *s = &job->strip;
    const struct gpubind_halo_grid grid = {
        .ndims = 2,
        .ranks = {job->n, 1},
        .periodic = {s->periodic, 0},
        .cells = {s->rows, s->columns},
        .width = {1, 0},
        .pitch = (int)s->pitch,
        .element = s->type,
        .flags = GPUBIND_HALO_IN_TURN,
    };
    /* The first step writes the second array, so that its turn is first. */
    void *const arrays[] = {s->cells[1], s->cells[0]};

    gpubind_halo_create(job->comm, &grid, 2, arrays, &job->halo);
}

static void step_halo(struct job *job, struct step step)
{
    gpu_stream in = job->stream[NORTH];

    compute_edges_first(job, step);
    timeline_begin(&job->timeline, SPAN_EXCHANGE, NORTH, in);
    if (job->exchange)
        gpubind_halo_exchange_on_stream(job->halo, step.from, in);
    timeline_end(&job->timeline, in);
    compute(job, step, INNER, inner_rows(job), SPAN_INTERIOR);
}

static void end_halo(struct job *job)
{
    gpubind_halo_free(&job->halo);
}

/* clang-format off */
const struct version versions[VERSIONS] = {
    {.name = "blocking", .what = "exchange, then compute; each message is waited for",
     .streams = 1U << INNER, .step = step_blocking},
    {.name = "nonblocking", .what = "receives posted first, all messages at once, then compute",
     .streams = 1U << INNER, .step = step_nonblocking},
    {.name = "boundary", .what = "edges first, the host exchanges beside the inner rows",
     .streams = 1U << NORTH | 1U << INNER, .step = step_boundary},
    {.name = "streams", .what = "edges and messages in two streams, inner rows in a third",
     .streams = 1U << NORTH | 1U << SOUTH | 1U << INNER, .step = step_streams},
    {.name = "halo", .what = "gpubind_halo in a stream beside the inner rows",
     .streams = 1U << NORTH | 1U << INNER, .can_be_graph = true, .start = start_halo,
     .step = step_halo, .end = end_halo},
};
/* clang-format on */
