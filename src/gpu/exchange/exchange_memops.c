/* The stream memory operations backend: queues the waits for all flags that the copies need, the
 * copies, and the writes of the flags that announce them. */
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

/* The driver orders a write after all earlier work of the stream, like __threadfence_system. */
static void set(struct batch *batch, gpu_address sync_flags, unsigned n, uint32_t value)
{
    for (unsigned i = 0; i < n; i++)
        add(batch, CUDA_OPERATION_WRITE, sync_flags + i * EXCHANGE_FLAG, value, 0);
}

static void await(struct batch *batch, gpu_address sync_flags, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        add(batch, batch->wait, sync_flags + i * EXCHANGE_FLAG, 1, batch->wait_flags);
    set(batch, sync_flags, n, 0);
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
    /* The 64 bits of a flag exceed 1 when the channel is broken. */
    struct batch batch = {.stream = exchange->stream,
                          .wait = gpu->has_wait64 ? CUDA_OPERATION_WAIT_64 : CUDA_OPERATION_WAIT,
                          .wait_flags = GPU_WAIT_GEQ | gpu_flags_wait_flush(gpu)};
    const struct exchange_send *sends = exchange->sends;
    const struct exchange_receive *receives = exchange->receives;

    for (int i = 0; i < exchange->nreceives; i++)
        if (!receives[i].no_handshake)
            set(&batch, receives[i].ready, receives[i].parts, 1);
    for (int i = 0; i < exchange->nsends; i++)
        if (!sends[i].no_handshake)
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
