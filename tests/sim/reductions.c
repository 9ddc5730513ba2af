/* The reduction kernel, thread by thread, from the last one on. */
#include <string.h>

#include "gpu/reduce/reduce_share.h"
#include "tests/sim/kernels.h"

enum { THERE, FROM, PLACES };

struct reduce_state {
    struct reduce_kernel_job job;
    uint64_t threads;
};

static enum step do_reduction(struct operation *op)
{
    const struct reduce_state *state = op->state;
    char *there = operation_touch(op, &op->places[THERE], "writes");
    char *from = operation_touch(op, &op->places[FROM],
                                 state->job.op == REDUCE_SWAP ? "writes" : "reads");

    for (uint64_t thread = state->threads; thread-- > 0;)
        if (!reduce_share(&state->job, there, from, thread, state->threads))
            sim_die("a reduction of type %u by operation %u", state->job.type, state->job.op);
    return STEP_FINISHED;
}

/* Bytes of an element, and of what is aligned; 0: there is no such type. */
static unsigned size_of(unsigned type, unsigned *aligned)
{
    static const unsigned char sizes[REDUCE_TYPES] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16};

    if (type >= REDUCE_TYPES)
        return 0;
    *aligned = type >= REDUCE_C32 ? sizes[type] / 2u : sizes[type];
    return sizes[type];
}

static bool is_aligned(const struct reduce_kernel_job *job, unsigned size, unsigned aligned)
{
    const uint64_t skipped = job->head * size;

    return (job->there | job->from) % aligned == 0 &&
           (job->nwords == 0 || (job->there + skipped) % REDUCE_WORD == 0) &&
           (job->nwords == 0 || !job->whole_words || (job->from + skipped) % REDUCE_WORD == 0);
}

static bool find_bytes(const struct CUctx_st *context, cuda_address start, uint64_t nbytes,
                       struct place *place)
{
    return place_find(CALL_cuLaunchKernel, start, nbytes, place) == CUDA_OK &&
           place_reached(context, place) &&
           (uintptr_t)place->bytes % REDUCE_WORD == start % REDUCE_WORD;
}

struct operation *make_reduction(const void *job, unsigned blocks, struct CUstream_st *stream)
{
    struct operation *op = operation_with_step(CALL_cuLaunchKernel, do_reduction, PLACES,
                                               sizeof(struct reduce_state));
    struct reduce_state *state = op->state;
    unsigned size, aligned = 1, elements;

    memcpy(&state->job, job, sizeof state->job);
    state->threads = (uint64_t)blocks * REDUCE_KERNEL_THREADS;
    if (state->job.n == 0) {
        op->step = NULL;
        return op;
    }
    size = size_of(state->job.type, &aligned);
    if (size == 0 || state->job.head + state->job.nwords * REDUCE_WORD / size > state->job.n)
        sim_die("a reduction of %llu elements of type %u, %llu of them before %llu words",
                state->job.n, state->job.type, state->job.head, state->job.nwords);
    if (state->job.op == REDUCE_SWAP && (state->job.n != 1 || blocks != 1))
        sim_die("a comparison of %llu elements by %u blocks", state->job.n, blocks);
    elements = state->job.op == REDUCE_SWAP ? 3 : 1;
    if (!is_aligned(&state->job, size, aligned) ||
        !find_bytes(stream->context, state->job.there, state->job.n * size, &op->places[THERE]) ||
        !find_bytes(stream->context, state->job.from, state->job.n * size * elements,
                    &op->places[FROM]))
        op->error = kernel_fault();
    return op;
}
