/* The copy agent's kernel: executes the commands of a ring in page-locked memory, one after
 * the other, until it is told to exit. */
#include "gpu/copy/copy_agent_kernel.h"
#include "tests/sim/kernels.h"

enum { RING, STATE, PLACES };

struct agent_run {
    unsigned instance;
    bool begun;
    unsigned n; /* the next command */
};

static struct operation *make_one(const struct agent_copy *copy, struct CUstream_st *stream)
{
    struct copy_kernel_job job = {.n = 1};

    job.to[0] = copy->to;
    job.from[0] = copy->from;
    job.nbytes[0] = copy->nbytes;
    job.chunks_before[1] = (unsigned)((copy->nbytes + COPY_KERNEL_CHUNK - 1) / COPY_KERNEL_CHUNK);
    return make_copies(&job, 1, stream);
}

static struct operation *make_job(const struct agent_command *command, struct CUstream_st *stream)
{
    switch (command->kind) {
    case AGENT_ONE:
        return make_one(&command->job.one, stream);
    case AGENT_COPY:
        return make_copies(&command->job.copy, 1, stream);
    case AGENT_STRIDED:
        return make_layout(&command->job.strided, command->job.strided.copy.parts, stream);
    case AGENT_IOV:
        return make_gather(&command->job.iov, 1, stream);
    default:
        sim_die("a copy agent's command of kind %u", command->kind);
    }
}

static void execute(const struct agent_command *command, struct CUstream_st *stream)
{
    struct operation *op = make_job(command, stream);

    if (op->error)
        sim_die("a copy agent's command of kind %u reads or writes what it cannot reach",
                command->kind);
    op->stream = stream;
    operation_keep(op);
    if (op->step)
        op->step(op);
    else
        operation_copy(op);
    operation_free(op);
}

static enum step do_nothing(struct operation *op)
{
    (void)op;
    return STEP_FINISHED;
}

static enum step do_agent(struct operation *op)
{
    struct agent_run *run = op->state;
    struct agent_ring *ring = (void *)operation_touch(op, &op->places[RING], "reads");
    struct agent_state *state = (void *)operation_touch(op, &op->places[STATE], "writes");
    uint64_t tail;

    if (op->resident < op->blocks) /* each has its share of a command */
        return STEP_STUCK;
    if (!run->begun)
        run->n = state->next;
    run->begun = true;
    tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    if ((int32_t)((uint32_t)(tail >> 32) - (run->instance + 1)) >= 0) {
        state->next = run->n;
        __atomic_store_n(&ring->exited, run->instance + 1, __ATOMIC_RELEASE);
        return STEP_FINISHED;
    }
    if ((uint32_t)tail == run->n)
        return STEP_STUCK;
    execute(&ring->commands[run->n % AGENT_COMMANDS], op->stream);
    run->n++;
    __atomic_store_n(&ring->done, run->n, __ATOMIC_RELEASE);
    return STEP_MOVED;
}

struct operation *make_agent(const void *parameter, unsigned blocks, struct CUstream_st *stream)
{
    const struct agent_kernel_job *job = parameter;
    struct operation *op = operation_with_step(
        CALL_cuLaunchKernel, job->ring ? do_agent : do_nothing, PLACES, sizeof(struct agent_run));
    struct agent_run *run = op->state;

    if (!job->ring)
        return op;
    (void)blocks;
    *run = (struct agent_run){.instance = job->instance};
    if (place_find(CALL_cuLaunchKernel, job->ring, sizeof(struct agent_ring), &op->places[RING]) ||
        place_find(CALL_cuLaunchKernel, job->state, sizeof(struct agent_state),
                   &op->places[STATE]) ||
        !place_reached(stream->context, &op->places[RING]) ||
        !place_reached(stream->context, &op->places[STATE]))
        op->error = kernel_fault();
    return op;
}
