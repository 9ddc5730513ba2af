#include "cuda/exchange_ways.h"

#define PART_BYTES (16u << 10)
#define PARTS_MOST 16u

/* Two H200: rows of 64 KiB to both neighbours take 4.8 us by 4 blocks of 256 threads and
 * by 8; 1 MiB wants 16. */
unsigned exchange_parts(uint64_t nbytes)
{
    const uint64_t parts = (nbytes + PART_BYTES - 1) / PART_BYTES;

    return parts < 1 ? 1 : parts < PARTS_MOST ? (unsigned)parts : PARTS_MOST;
}

bool exchange_has_kernel(struct gpu *gpu)
{
    (void)gpu;
    return false;
}

static int check(const struct exchange *exchange, struct gpubind_error *err)
{
    for (int i = 0; i < exchange->nsends; i++) {
        const struct exchange_send *send = &exchange->sends[i];
        struct shape shape;

        if (!shape_of(&send->to, send->nbytes, &shape) ||
            !shape_of(&send->from, send->nbytes, &shape))
            return error_set(err, "a layout has less than the message's %llu bytes",
                             (unsigned long long)send->nbytes);
    }
    if (!gpu_driver()->cuStreamBatchMemOp_v2)
        return error_set(err, "the CUDA driver is too old: it has no cuStreamBatchMemOp_v2");
    return 0;
}

int exchange_start(struct gpu *gpu, struct CUstream_st *stream,
                   const struct exchange_send *sends, int nsends,
                   const struct exchange_receive *receives, int nreceives,
                   struct gpubind_error *err)
{
    const struct exchange exchange = {gpu, stream, sends, nsends, receives, nreceives};
    bool entered;
    int status;

    if (check(&exchange, err) < 0)
        return -1;
    entered = gpu_enter(gpu);
    status = exchange_by_operations(&exchange);
    gpu_leave(entered);
    return status == CUDA_OK ? 0 : gpu_error(status, "messages cannot be queued", err);
}
