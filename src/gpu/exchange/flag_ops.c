#include "gpu/exchange/flag_ops.h"

#include "gpu/core/gpu_calls.h"
#include "gpu/exchange/gpu_flags.h"

static unsigned wait_options(const struct gpu *gpu)
{
    return GPU_WAIT_GEQ | (gpu ? gpu_flags_wait_flush(gpu) : 0);
}

static int queue_one(const struct gpu_flag_op *op, gpu_stream stream, const struct gpu *gpu)
{
    const gpu_address at = (gpu_address)(uintptr_t)op->flag;

    return op->waits ? gpu_stream_wait32(stream, at, op->value, wait_options(gpu))
                     : gpu_stream_write32(stream, at, op->value, 0);
}

int gpu_flag_ops_queue(const struct gpu_flag_op *ops, int n, gpu_stream stream,
                       const struct gpu *gpu)
{
    struct cuda_memory_operation batch[GPU_FLAG_OPS] = {{0}};
    int status = GPU_OK;

    if (n == 1 || !gpu_has_batched_memops()) {
        for (int i = 0; i < n && status == GPU_OK; i++)
            status = queue_one(&ops[i], stream, gpu);
        return status;
    }
    for (int i = 0; i < n; i++)
        batch[i] = (struct cuda_memory_operation){.operation = ops[i].waits ? CUDA_OPERATION_WAIT
                                                                            : CUDA_OPERATION_WRITE,
                                                  .address = (gpu_address)(uintptr_t)ops[i].flag,
                                                  .value = ops[i].value,
                                                  .flags = ops[i].waits ? wait_options(gpu) : 0};
    return gpu_driver()->cuStreamBatchMemOp_v2(stream, (unsigned)n, batch, 0);
}
