#include "gpu/copy/strided_launch.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/kernels.h"
#include "gpu/core/waiting_blocks.h"
#include "gpu/exchange/exchange_launch.h"

#define PART_BYTES (16u << 10)
#define PARTS 16u
#define LARGE_PART_BYTES (64u << 10)
#define LARGE_PARTS 32u

/* Costs, measured on two H200. A block of the exchange kernel moves 16 KiB in 1.2 us, and strided
 * data unit by unit. Stream memory operations cost more than a launch, but leave the copies to a
 * copy engine, or to a kernel with more threads. */
#define OPERATIONS_PS 9000000u
#define BLOCK_BYTE_PS 73u
#define ENGINE_BYTE_PS 3u
#define BLOCK_UNIT_PS 7000u
#define STRIDED_UNIT_PS 100u

static unsigned min_parts(uint64_t parts, unsigned most)
{
    return parts < most ? (unsigned)parts : most;
}

/* Two H200: rows of 64 KiB to both neighbours take 4.8 us by 4 blocks of 256 threads and
 * by 8; 1 MiB wants 16; 16 MiB one way 97 us by 16 of them, and half of that by 32. */
unsigned exchange_parts(uint64_t nbytes)
{
    const uint64_t parts = nbytes / PART_BYTES + (nbytes % PART_BYTES != 0);
    const unsigned large = min_parts(nbytes / LARGE_PART_BYTES, LARGE_PARTS);

    if (parts <= 1)
        return 1;
    return large > PARTS ? large : min_parts(parts, PARTS);
}

bool exchange_has_kernel(struct gpu *gpu)
{
    bool entered = gpu_enter(gpu), has = kernel_of(gpu, GPU_EXCHANGE_KERNEL) != NULL;

    gpu_leave(entered);
    return has;
}

unsigned exchange_blocks(const struct gpu *gpu, unsigned parts, unsigned nreceives)
{
    const unsigned most = waiting_blocks_of_some(gpu);
    const unsigned wanted = parts > nreceives ? parts : nreceives;

    return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

/* What the messages will cost by either backend. */
struct cost {
    bool kernel_fits;            /* the kernel can copy them all */
    uint64_t kernel, operations; /* ps: in parallel, and one after the other */
};

static void add_cost(const struct strided *to, const struct strided *from,
                     const struct exchange_send *send, struct cost *cost)
{
    const bool strided = to->levels > 1 || from->levels > 1;
    const uint64_t n = strided ? send->nbytes / strided_unit(to, from, send->nbytes) : send->nbytes;
    const uint64_t kernel = n / send->parts * (strided ? BLOCK_UNIT_PS : BLOCK_BYTE_PS);

    cost->kernel_fits &= kernel_can_copy(to, from, send->nbytes);
    cost->kernel = kernel > cost->kernel ? kernel : cost->kernel;
    cost->operations += n * (strided ? STRIDED_UNIT_PS : ENGINE_BYTE_PS);
}

static int estimate_cost(const struct exchange *exchange, struct cost *cost,
                         struct gpubind_error *err)
{
    *cost = (struct cost){.kernel_fits = true, .operations = OPERATIONS_PS};
    for (int i = 0; i < exchange->nsends; i++) {
        const struct exchange_send *send = &exchange->sends[i];
        struct strided to, from;

        if (!send->parts || !strided_of(&send->to, send->nbytes, &to) ||
            !strided_of(&send->from, send->nbytes, &from))
            return error_set(err, "%llu bytes in %u parts: a strided buffer has fewer",
                             (unsigned long long)send->nbytes, send->parts);
        add_cost(&to, &from, send, cost);
    }
    return 0;
}

int exchange_start(struct gpu *gpu, gpu_stream stream, const struct exchange_send *sends,
                   int nsends, const struct exchange_receive *receives, int nreceives,
                   unsigned blocks, struct gpubind_error *err)
{
    const struct exchange exchange = {gpu, stream, sends, nsends, receives, nreceives, blocks};
    const bool operations = gpu_driver()->cuStreamBatchMemOp_v2;
    gpu_function kernel;
    struct cost cost;
    bool entered;
    int status;

    if (estimate_cost(&exchange, &cost, err) < 0)
        return -1;
    entered = gpu_enter(gpu);
    /* A green context may not have room for all of its blocks. */
    kernel = cost.kernel_fits && !stream_is_green(stream) ? kernel_of(gpu, GPU_EXCHANGE_KERNEL)
                                                          : NULL;
    if (kernel && (!operations || cost.kernel <= cost.operations))
        status = exchange_by_kernel(&exchange, kernel);
    else
        status = operations ? exchange_by_memops(&exchange) : GPU_NOT_SUPPORTED;
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "messages cannot be queued", err);
}
