/* The kernel of exchanges whose messages are known later: waits for its gate, then does what its job says then. */
#include <string.h>

#include "tests/sim/kernels.h"

enum { JOB, POSTED, PLACES };

struct deferred_state {
    struct operation *exchange; /* NULL: the gate has not opened */
    struct deferred_kernel_launch launch;
};

static const void *array_at(const struct operation *op, unsigned long long at, size_t nbytes)
{
    static const char nothing[16];
    struct place place = {0};

    if (nbytes == 0)
        return nothing;
    if (place_find(CALL_cuLaunchKernel, at, nbytes, &place) != CUDA_OK ||
        !place_reached(op->stream->context, &place))
        sim_die("a deferred exchange reads an array that is not there");
    return operation_touch(op, &place, "reads");
}

static struct operation *make_deferred_exchange(const struct operation *op,
                                                const struct deferred_kernel_job *job)
{
    const unsigned nstrided = 4 * DEFERRED_MESSAGES;
    struct kernel_levels strided[4 * DEFERRED_MESSAGES] = {0};
    struct exchange exchange = {.nsends = job->nsends,
                                .nreceives = job->nreceives,
                                .nstrided = nstrided,
                                .posts = 1,
                                .waits = 1,
                                .traps = job->traps,
                                .strided = strided};
    struct operation *made;

    exchange.sends = array_at(op, job->sends, job->nsends * sizeof *exchange.sends);
    exchange.receives = array_at(op, job->receives, job->nreceives * sizeof *exchange.receives);
    exchange.takes = array_at(op, job->takes, job->nreceives * sizeof *exchange.takes);
    memcpy(strided,
           array_at(op, job->strided, 2 * (job->nsends + job->nreceives) * sizeof *strided),
           2 * (job->nsends + job->nreceives) * sizeof *strided);
    made = exchange_new(&exchange, op->stream);
    if (made->error)
        sim_die("a deferred exchange touches what its context cannot");
    made->stream = op->stream;
    made->blocks = made->resident = op->blocks;
    operation_keep(made);
    return made;
}

static char *array_to_write(const struct operation *op, unsigned long long at, size_t nbytes)
{
    struct place place = {0};

    if (place_find(CALL_cuLaunchKernel, at, nbytes, &place) != CUDA_OK ||
        !place_reached(op->stream->context, &place))
        sim_die("a deferred exchange writes where it cannot");
    return operation_touch(op, &place, "writes");
}

/* Takes the job from where the host has posted it, all but the gate. */
static void take_posted(const struct operation *op, const struct deferred_kernel_launch *launch,
                        const struct deferred_kernel_job *job, size_t nbytes)
{
    const size_t gate = sizeof job->gate;
    const uint64_t *flags;

    if (nbytes < sizeof *job)
        sim_die("a posted job of %zu bytes", nbytes);
    memcpy(array_to_write(op, launch->job, nbytes) + gate,
           (const char *)array_at(op, launch->posted, nbytes) + gate, nbytes - gate);
    flags = array_at(op, job->presets, job->npresets * sizeof *flags);
    for (unsigned i = 0; i < job->npresets; i++)
        __atomic_store_n((uint32_t *)(void *)array_to_write(op, flags[i], sizeof(uint32_t)), 1,
                         __ATOMIC_RELEASE);
}

static unsigned gate_of(const struct operation *op, struct deferred_kernel_job *job)
{
    const struct deferred_state *state = op->state;
    const struct deferred_kernel_job *posted;
    unsigned gate = __atomic_load_n(&job->gate, __ATOMIC_ACQUIRE);

    if (gate != 0 || !op->places[POSTED].bytes)
        return gate;
    posted = (void *)operation_touch(op, &op->places[POSTED], "reads");
    gate = __atomic_load_n(&posted->gate, __ATOMIC_ACQUIRE);
    if (gate == EXCHANGE_GATE_OPEN)
        take_posted(op, &state->launch, job, posted->nbytes);
    __atomic_store_n(&job->gate, gate, __ATOMIC_RELEASE);
    return gate;
}

static enum step do_deferred(struct operation *op)
{
    struct deferred_state *state = op->state;
    struct deferred_kernel_job *job = (void *)operation_touch(op, &op->places[JOB], "writes");
    enum step step;

    if (op->resident < op->blocks)
        return STEP_STUCK;
    if (!state->exchange) {
        const unsigned gate = gate_of(op, job);

        if (gate == EXCHANGE_GATE_BROKEN)
            operation_trap(op);
        if (gate != EXCHANGE_GATE_OPEN)
            return gate == 0 ? STEP_STUCK : STEP_FINISHED;
        state->exchange = make_deferred_exchange(op, job);
    }
    step = state->exchange->step(state->exchange);
    if (step != STEP_FINISHED)
        return step;
    op->error = state->exchange->error;
    op->traps = state->exchange->traps;
    operation_free(state->exchange);
    return step;
}

static enum step do_nothing(struct operation *op)
{
    (void)op;
    return STEP_FINISHED;
}

static bool finds_job(cuda_address job, const struct CUstream_st *stream, struct place *place)
{
    return !job || (place_find(CALL_cuLaunchKernel, job, sizeof(struct deferred_kernel_job),
                               place) == CUDA_OK &&
                    place_reached(stream->context, place));
}

struct operation *make_deferred(const void *parameter, unsigned blocks, struct CUstream_st *stream)
{
    struct deferred_kernel_launch launch;
    struct operation *op;

    (void)blocks;
    memcpy(&launch, parameter, sizeof launch);
    op = operation_with_step(CALL_cuLaunchKernel, launch.job ? do_deferred : do_nothing, PLACES,
                             sizeof(struct deferred_state));
    ((struct deferred_state *)op->state)->launch = launch;
    if (!finds_job(launch.job, stream, &op->places[JOB]) ||
        !finds_job(launch.posted, stream, &op->places[POSTED]))
        op->error = kernel_fault();
    return op;
}
