/* Stream memory operations: writes to words, and waits for what others write there. */
#include "tests/sim/sim.h"

struct word { /* a step of a batch; the place has the same number */
    int operation;
    uint32_t value;
    unsigned flags;
};

struct batch {
    size_t next; /* that is to be done */
    struct word words[];
};

static bool holds(const struct word *word, uint32_t seen)
{
    if ((word->flags & ~(unsigned)CUDA_WAIT_FLUSH) == CUDA_WAIT_EQ)
        return seen == word->value;
    return (int32_t)(seen - word->value) >= 0;
}

static enum step do_words(struct operation *op)
{
    struct batch *batch = op->state;
    const size_t before = batch->next;

    for (; batch->next < op->nplaces; batch->next++) {
        const struct word *word = &batch->words[batch->next];
        const struct place *place = &op->places[batch->next];

        if (word->operation == CUDA_OPERATION_WRITE)
            __atomic_store_n((uint32_t *)operation_touch(op, place, "writes"), word->value,
                             __ATOMIC_RELEASE);
        else if (!holds(word, __atomic_load_n((uint32_t *)operation_touch(op, place, "waits for"),
                                              __ATOMIC_ACQUIRE)))
            return batch->next > before ? STEP_MOVED : STEP_STUCK;
    }
    return STEP_FINISHED;
}

/* What the driver refuses: managed and pageable memory, unaligned words, other flags. */
static int find_word(enum sim_call call, const struct CUctx_st *context,
                     const struct cuda_memory_operation *wanted, struct place *place)
{
    const unsigned comparison = wanted->flags & ~(unsigned)CUDA_WAIT_FLUSH;
    const bool waits = wanted->operation == CUDA_OPERATION_WAIT;
    int result;

    if (!waits && wanted->operation != CUDA_OPERATION_WRITE)
        return CUDA_INVALID_VALUE;
    if (waits && (wanted->flags & CUDA_WAIT_FLUSH) && !sim_number("GPUBIND_SIM_FLUSH", 0, 1))
        return SIM_NOT_SUPPORTED;
    if (waits ? comparison > CUDA_WAIT_EQ : wanted->flags != 0)
        return CUDA_INVALID_VALUE;
    if (wanted->address % sizeof(uint32_t))
        return CUDA_INVALID_VALUE;
    result = place_find(call, wanted->address, sizeof(uint32_t), place);
    if (!result && (!place_reached(context, place) || place->range->kind == RANGE_MANAGED))
        result = CUDA_INVALID_VALUE;
    return result;
}

static int queue_words(enum sim_call call, struct CUstream_st *handle,
                       const struct cuda_memory_operation *wanted, unsigned count)
{
    struct CUstream_st *stream;
    struct operation *op;
    struct batch *batch;
    int result = stream_use(handle, &stream);

    if (result)
        return result;
    op = operation_with_step(call, do_words, count,
                             sizeof *batch + count * sizeof batch->words[0]);
    batch = op->state;
    for (unsigned i = 0; i < count && !result; i++) {
        batch->words[i] = (struct word){wanted[i].operation, wanted[i].value, wanted[i].flags};
        result = find_word(call, stream->context, &wanted[i], &op->places[i]);
    }
    if (!result) {
        stream_submit(stream, op);
        return CUDA_OK;
    }
    op->nplaces = 0; /* nothing is kept yet */
    operation_free(op);
    return result;
}

int cuStreamWaitValue32_v2(struct CUstream_st *stream, cuda_address address, uint32_t value,
                           unsigned flags)
{
    int result = sim_enter(CALL_cuStreamWaitValue32_v2);
    const struct cuda_memory_operation wanted = {
        .operation = CUDA_OPERATION_WAIT, .address = address, .value = value, .flags = flags};

    if (result)
        return result;
    return sim_leave(queue_words(CALL_cuStreamWaitValue32_v2, stream, &wanted, 1));
}

int cuStreamWriteValue32_v2(struct CUstream_st *stream, cuda_address address, uint32_t value,
                            unsigned flags)
{
    int result = sim_enter(CALL_cuStreamWriteValue32_v2);
    const struct cuda_memory_operation wanted = {
        .operation = CUDA_OPERATION_WRITE, .address = address, .value = value, .flags = flags};

    if (result)
        return result;
    return sim_leave(queue_words(CALL_cuStreamWriteValue32_v2, stream, &wanted, 1));
}

int cuStreamBatchMemOp_v2(struct CUstream_st *stream, unsigned count,
                          struct cuda_memory_operation *operations, unsigned flags)
{
    int result = sim_enter(CALL_cuStreamBatchMemOp_v2);

    if (result)
        return result;
    if (!count || count > CUDA_OPERATIONS_MOST || flags)
        return sim_leave(CUDA_INVALID_VALUE);
    return sim_leave(queue_words(CALL_cuStreamBatchMemOp_v2, stream, operations, count));
}
