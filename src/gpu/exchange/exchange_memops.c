/* An exchange by stream memory operations: all words that the copies wait for, the
 * copies, and the words that tell of them. */
#include "gpu/exchange/exchange_backend.h"
#include "gpu/exchange/gpu_flags.h"

struct batch {
    gpu_stream stream;
    int status;
    int wait; /* the operation */
    unsigned wait_flags;
    unsigned n;
    struct cuda_memory_operation operations[CUDA_OPERATIONS_MOST];
};

static void flush(struct batch *batch)
{
    if (batch->status == GPU_OK && batch->n)
        batch->status = gpu_driver()->cuStreamBatchMemOp_v2(batch->stream, batch->n,
                                                            batch->operations, 0);
    batch->n = 0;
}

static void add(struct batch *batch, int operation, gpu_address address, uint32_t value,
                unsigned flags)
{
    if (batch->n == CUDA_OPERATIONS_MOST)
        flush(batch);
    batch->operations[batch->n++] = (struct cuda_memory_operation){
        .operation = operation, .address = address, .value = value, .flags = flags};
}

/* A write comes after all earlier work of the stream, as after __threadfence_system. */
static void set(struct batch *batch, gpu_address words, unsigned n, uint32_t value)
{
    for (unsigned i = 0; i < n; i++)
        add(batch, CUDA_OPERATION_WRITE, words + i * EXCHANGE_FLAG, value, 0);
}

static void await(struct batch *batch, gpu_address words, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        add(batch, batch->wait, words + i * EXCHANGE_FLAG, 1, batch->wait_flags);
    set(batch, words, n, 0);
}

static int copy(const struct exchange *exchange, const struct exchange_send *send)
{
    struct strided to, from;

    strided_of(&send->to, send->nbytes, &to);
    strided_of(&send->from, send->nbytes, &from);
    return strided_copy_normal(exchange->gpu, exchange->stream, &to, &from, send->nbytes);
}

int exchange_by_memops(const struct exchange *exchange)
{
    const struct gpu *gpu = exchange->gpu;
    /* A whole word is more than 1 when the pair is broken. */
    struct batch batch = {.stream = exchange->stream,
                          .wait = gpu->waits_for_64 ? CUDA_OPERATION_WAIT_64 : CUDA_OPERATION_WAIT,
                          .wait_flags = GPU_WAIT_GEQ | gpu_flags_wait_flush(gpu)};
    const struct exchange_send *sends = exchange->sends;
    const struct exchange_receive *receives = exchange->receives;

    for (int i = 0; i < exchange->nreceives; i++)
        if (!receives[i].sure)
            set(&batch, receives[i].ready, receives[i].parts, 1);
    for (int i = 0; i < exchange->nsends; i++)
        if (!sends[i].sure)
            await(&batch, sends[i].ready, sends[i].parts);
    flush(&batch);
    for (int i = 0; i < exchange->nsends && batch.status == GPU_OK; i++)
        batch.status = copy(exchange, &sends[i]);
    for (int i = 0; i < exchange->nsends; i++)
        set(&batch, sends[i].done, sends[i].parts, 1);
    for (int i = 0; i < exchange->nreceives; i++)
        await(&batch, receives[i].done, receives[i].parts);
    flush(&batch);
    return batch.status;
}
