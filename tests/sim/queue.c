/* The work in streams: who waits for whom, and doing it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/sim.h"

static struct CUstream_st *streams; /* those that live, or have work */
static uint64_t last_serial;        /* of errors that work left */
static uint64_t latency;            /* ns, the mean */
static uint64_t most;               /* work in a stream */

void queue_load(void)
{
    latency = 1000 * sim_number("GPUBIND_SIM_LATENCY", 0, 10000000);
    most = sim_number("GPUBIND_SIM_QUEUE", UINT32_MAX, UINT32_MAX);
    channels_load();
}

static uint64_t clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct CUstream_st *stream_first(void)
{
    return streams;
}

/* Forgets those that were destroyed and have no work any more. */
static void drop_streams(void)
{
    for (struct CUstream_st **at = &streams; *at;) {
        if ((*at)->destroyed && !(*at)->head)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
}

struct CUstream_st *stream_new(struct CUctx_st *context, bool blocking, bool legacy)
{
    struct CUstream_st *stream = sim_new(sizeof *stream);

    drop_streams();
    stream->context = context;
    stream->blocking = blocking;
    stream->legacy = legacy;
    stream->next = streams;
    streams = stream;
    return stream;
}

void streams_end(struct CUctx_st *context)
{
    context_wait(context);
    for (struct CUstream_st *s = streams; s; s = s->next)
        if (s->context == context)
            s->destroyed = true;
    drop_streams();
}

/* The legacy stream and the blocking streams of its context wait for each other. */
static void need_legacy(struct operation *op, const struct CUstream_st *stream)
{
    if (stream->blocking)
        operation_need(op, stream->context->legacy, stream->context->legacy->submitted);
    for (struct CUstream_st *s = streams; s && stream->legacy; s = s->next)
        if (s->blocking && s->context == stream->context)
            operation_need(op, s, s->submitted);
}

static bool is_ready(struct operation *op, uint64_t now)
{
    while (op->nneeds) {
        const struct dependency *need = &op->needs[op->nneeds - 1];

        if (need->stream->done < need->ticket)
            return false;
        op->nneeds--;
    }
    return !op->running && op->due <= now;
}

/* On a device. */
struct residents {
    uint64_t threads; /* of those that do not need all of a multiprocessor */
    unsigned blocks;  /* each on a multiprocessor that has none, if there is one */
    unsigned whole;   /* of these: they need all of it */
};

static struct residents *residents_of(const struct operation *op)
{
    static struct residents residents[SIM_MAX_DEVICES];

    return &residents[op->stream->context->physical];
}

static bool has_room(const struct residents *residents, const struct operation *op)
{
    return op->whole ? residents->blocks < SIM_MULTIPROCESSORS
                     : residents->threads + op->threads <=
                           (uint64_t)(SIM_MULTIPROCESSORS - residents->whole) * SIM_THREADS;
}

/* Fewer: n is negative. */
static void count_blocks(const struct operation *op, int n)
{
    struct residents *residents = residents_of(op);

    residents->blocks += (unsigned)n;
    if (op->whole)
        residents->whole += (unsigned)n;
    else
        residents->threads += (uint64_t)n * op->threads;
}

/* In their order, as there is room for them. false: for none. */
static bool admit_blocks(struct operation *op)
{
    while (op->resident < op->blocks && has_room(residents_of(op), op)) {
        count_blocks(op, 1);
        op->resident++;
    }
    return op->blocks == 0 || op->resident > 0;
}

void operation_end_blocks(struct operation *op, unsigned n)
{
    count_blocks(op, -(int)n);
    op->ended += n;
}

static void finish(struct operation *op)
{
    struct CUstream_st *stream = op->stream;

    operation_end_blocks(op, op->resident - op->ended);
    if (op->graph)
        graph_leave(op->graph);
    stream->done = op->ticket;
    stream->head = op->next;
    if (!stream->head)
        stream->last = NULL;
    operation_free(op);
}

static void *run_function(void *argument)
{
    struct operation *op = argument;

    sim_begin_callback();
    op->function(op->data);
    sim_lock();
    finish(op);
    streams_advance();
    sim_changed();
    sim_unlock();
    return NULL;
}

/* A thread of the driver, which gets none of the process' signals. */
static void start_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, function, argument) != 0)
        sim_die("no thread");
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void operation_trap(struct operation *op)
{
    op->error = SIM_LAUNCH_FAILED;
    op->traps = true;
}

/* Nothing of the context is done any more. */
static void trap(struct CUctx_st *context)
{
    context->trapped = true;
    for (struct CUstream_st *s = streams; s; s = s->next)
        for (struct operation *op = s->context == context ? s->head : NULL; op; op = op->next)
            op->error = SIM_LAUNCH_FAILED;
}

static enum step leave_error(struct operation *op)
{
    struct CUstream_st *told = op->stream->told ? op->stream->told : op->stream;

    if (op->traps && !op->stream->context->trapped)
        trap(op->stream->context);
    told->error = op->error;
    told->error_serial = ++last_serial;
    finish(op);
    return STEP_FINISHED;
}

/* Does op, the first of its stream, and ends it, or leaves its end to a thread or to a
 * later time. */
static enum step execute(struct operation *op)
{
    struct CUstream_st *stream = op->stream;
    enum step step = STEP_FINISHED;

    if (op->error)
        return leave_error(op);
    if (!admit_blocks(op))
        return STEP_STUCK;
    if (op->step)
        step = op->step(op);
    op->asked = step == STEP_STUCK ? op->asked + 1 : 0;
    if (step != STEP_FINISHED)
        return step;
    if (op->error)
        return leave_error(op);
    operation_copy(op);
    if (op->event && op->event->stream == stream && op->event->ticket == op->ticket) {
        op->event->reached = clock_now();
        op->event->error_serial = stream->error ? stream->error_serial : 0;
    }
    if (op->freed.range && !op->freed.range->dead)
        range_release_in(stream, op->freed.range);
    op->running = op->function != NULL;
    if (op->running)
        start_thread(run_function, op);
    else
        finish(op);
    return STEP_FINISHED;
}

/* Does what the stream can do now; did it move? */
static bool advance(struct CUstream_st *stream, uint64_t now)
{
    bool moved = false;

    while (stream->head && channel_is_free(stream) && is_ready(stream->head, now)) {
        enum step step = execute(stream->head);

        stream->stuck = step == STEP_STUCK;
        moved |= step != STEP_STUCK;
        if (step != STEP_FINISHED)
            break;
    }
    return moved;
}

/* When the stream is to be looked at again. */
static uint64_t next_of(const struct CUstream_st *stream, uint64_t now)
{
    uint64_t times;

    if (!stream->head)
        return UINT64_MAX;
    if (stream->head->due > now)
        return stream->head->due;
    if (!stream->head->step || stream->head->nneeds)
        return UINT64_MAX;
    times = 1 + stream->head->asked / 100;
    return clock_now() + SIM_POLL * (times < 20 ? times : 20);
}

uint64_t streams_advance(void)
{
    uint64_t next = UINT64_MAX, now = latency ? clock_now() : 0;
    bool moved;

    do {
        moved = false;
        for (struct CUstream_st *s = streams; s; s = s->next)
            moved |= advance(s, now);
    } while (moved);
    for (struct CUstream_st *s = streams; s; s = s->next) {
        uint64_t at = next_of(s, now);

        next = at < next ? at : next;
    }
    return next;
}

static void *work(void *unused)
{
    (void)unused;
    sim_lock();
    for (;;)
        sim_wait(streams_advance());
    return NULL;
}

static void wait_for_room(const struct CUstream_st *stream)
{
    uint64_t next = streams_advance();

    lock_take(stream->legacy);
    while (stream->submitted - stream->done >= most) {
        sim_wait(next);
        next = streams_advance();
    }
    lock_give(stream->legacy);
}

uint64_t stream_submit(struct CUstream_st *stream, struct operation *op)
{
    static bool working;
    uint64_t ticket;

    operation_keep(op);
    if (stream->submitted - stream->done >= most && !stream->capture)
        wait_for_room(stream);
    if (stream->capture) {
        graph_add(stream, op);
        return stream->done;
    }
    ticket = ++stream->submitted;
    op->ticket = ticket;
    op->stream = stream;
    need_legacy(op, stream);
    channel_need(op, stream);
    if (latency)
        op->due = clock_now() + sim_random() % (2 * latency + 1);
    if (op->event) {
        op->event->stream = stream;
        op->event->ticket = ticket;
        op->event->error_serial = 0;
    }
    if (stream->last)
        stream->last->next = op;
    else
        stream->head = op;
    stream->last = op;
    streams_advance();
    if (stream->done < ticket) {
        if (!working)
            start_thread(work, NULL);
        working = true;
        sim_changed();
    }
    return ticket;
}

void stream_wait(const struct CUstream_st *stream, uint64_t ticket)
{
    uint64_t next = streams_advance();

    while (stream->done < ticket) {
        sim_wait(next);
        next = streams_advance();
    }
}

static bool is_busy(const struct CUctx_st *context)
{
    for (const struct CUstream_st *s = streams; s; s = s->next)
        if (s->context == context && s->head)
            return true;
    return false;
}

void context_wait(const struct CUctx_st *context)
{
    uint64_t next = streams_advance();

    while (is_busy(context)) {
        sim_wait(next);
        next = streams_advance();
    }
    for (struct CUstream_st *s = stream_first(); s; s = s->next)
        if (s->context == context)
            stream_return_memory(s);
}

int stream_take_error(struct CUstream_st *stream)
{
    int error = stream->error;

    stream->error = CUDA_OK;
    return error;
}
