/* Stream memory operations: writes to words, and waits for what others write there. */
#include "tests/sim/sim.h"

struct word { /* a step of a batch; the place has the same number */
    int operation;
    uint64_t value;
    unsigned flags;
};

struct batch {
    size_t next; /* that is to be done */
    struct word words[];
};

static bool is_wide(int operation)
{
    return operation == CUDA_OPERATION_WAIT_64 || operation == CUDA_OPERATION_WRITE_64;
}

static bool is_write(int operation)
{
    return operation == CUDA_OPERATION_WRITE || operation == CUDA_OPERATION_WRITE_64;
}

static void write_word(const struct word *word, char *at)
{
    if (is_wide(word->operation))
        __atomic_store_n((uint64_t *)at, word->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)at, (uint32_t)word->value, __ATOMIC_RELEASE);
}

static bool holds(const struct word *word, const char *at)
{
    uint64_t past; /* the value: how far the word is */

    if (is_wide(word->operation))
        past = __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE) - word->value;
    else
        past = (uint64_t)(int32_t)(__atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE) -
                                   (uint32_t)word->value);
    if ((word->flags & ~(unsigned)CUDA_WAIT_FLUSH) == CUDA_WAIT_EQ)
        return past == 0;
    return (int64_t)past >= 0;
}

static enum step do_words(struct operation *op)
{
    struct batch *batch = op->state;
    const size_t before = batch->next;

    for (; batch->next < op->nplaces; batch->next++) {
        const struct word *word = &batch->words[batch->next];
        const struct place *place = &op->places[batch->next];

        if (is_write(word->operation))
            write_word(word, operation_touch(op, place, "writes"));
        else if (!holds(word, operation_touch(op, place, "waits for")))
            return batch->next > before ? STEP_MOVED : STEP_STUCK;
    }
    return STEP_FINISHED;
}

/* What the driver refuses: managed and pageable memory, unaligned words, other flags. */
static int find_word(enum sim_call call, const struct CUctx_st *context,
                     const struct cuda_memory_operation *wanted, struct place *place)
{
    const unsigned comparison = wanted->flags & ~(unsigned)CUDA_WAIT_FLUSH;
    const size_t nbytes = is_wide(wanted->operation) ? sizeof(uint64_t) : sizeof(uint32_t);
    const bool waits = !is_write(wanted->operation);
    int result;

    if (waits && wanted->operation != CUDA_OPERATION_WAIT &&
        wanted->operation != CUDA_OPERATION_WAIT_64)
        return CUDA_INVALID_VALUE;
    if (waits && (wanted->flags & CUDA_WAIT_FLUSH) && !sim_number("GPUBIND_SIM_FLUSH", 0, 1))
        return SIM_NOT_SUPPORTED;
    if (waits ? comparison > CUDA_WAIT_EQ : wanted->flags != 0)
        return CUDA_INVALID_VALUE;
    if (wanted->address % nbytes)
        return CUDA_INVALID_VALUE;
    result = place_find(call, wanted->address, nbytes, place);
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
    op = operation_with_step(call, do_words, count, sizeof *batch + count * sizeof batch->words[0]);
    batch = op->state;
    for (unsigned i = 0; i < count && !result; i++) {
        batch->words[i] = (struct word){wanted[i].operation,
                                        (uint64_t)wanted[i].high_value << 32 | wanted[i].value,
                                        wanted[i].flags};
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

static int queue_word(enum sim_call call, int operation, struct CUstream_st *stream,
                      cuda_address address, uint64_t value, unsigned flags)
{
    int result = sim_enter(call);
    const struct cuda_memory_operation wanted = {.operation = operation,
                                                 .address = address,
                                                 .value = (uint32_t)value,
                                                 .high_value = (uint32_t)(value >> 32),
                                                 .flags = flags};

    return result ? result : sim_leave(queue_words(call, stream, &wanted, 1));
}

int cuStreamWaitValue32_v2(struct CUstream_st *stream, cuda_address address, uint32_t value,
                           unsigned flags)
{
    return queue_word(CALL_cuStreamWaitValue32_v2, CUDA_OPERATION_WAIT, stream, address, value,
                      flags);
}

int cuStreamWriteValue32_v2(struct CUstream_st *stream, cuda_address address, uint32_t value,
                            unsigned flags)
{
    return queue_word(CALL_cuStreamWriteValue32_v2, CUDA_OPERATION_WRITE, stream, address, value,
                      flags);
}

int cuStreamWaitValue64_v2(struct CUstream_st *stream, cuda_address address, uint64_t value,
                           unsigned flags)
{
    return queue_word(CALL_cuStreamWaitValue64_v2, CUDA_OPERATION_WAIT_64, stream, address, value,
                      flags);
}

int cuStreamWriteValue64_v2(struct CUstream_st *stream, cuda_address address, uint64_t value,
                            unsigned flags)
{
    return queue_word(CALL_cuStreamWriteValue64_v2, CUDA_OPERATION_WRITE_64, stream, address, value,
                      flags);
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
