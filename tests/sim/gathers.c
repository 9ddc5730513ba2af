/* The gather kernel: searches the table as the kernel does, from piece to piece. */
#include <stdlib.h>
#include <string.h>

#include "cuda/gather_kernel.h"
#include "tests/sim/kernels.h"

struct gathering {
    const struct gather_kernel_job *job;
    const uint64_t *position, *first;
    const int64_t *at;
    const struct CUctx_st *context;
};

/* The table in the device's memory; its size follows from the job. */
static bool read_table(struct gathering *gathering)
{
    const struct gather_kernel_job *job = gathering->job;
    const uint64_t parts = (job->element + GATHER_KERNEL_PART - 1) / GATHER_KERNEL_PART;
    const uint64_t nbytes = 8 * (2 * job->n + 1 + parts + 1);
    struct place place;

    if (job->element < GATHER_KERNEL_PART ||
        place_find(CALL_cuLaunchKernel, job->table, nbytes, &place) != CUDA_OK ||
        !place_reached(gathering->context, &place))
        return false;
    gathering->position = (const uint64_t *)(const void *)place.bytes;
    gathering->at = (const int64_t *)(gathering->position + job->n + 1);
    gathering->first = gathering->position + 2 * job->n + 1;
    return gathering->position[job->n] == job->element;
}

static uint64_t find_piece(const struct gathering *gathering, uint64_t in)
{
    const uint64_t part = in / GATHER_KERNEL_PART, high = gathering->first[part + 1];
    uint64_t low = gathering->first[part];

    for (unsigned step = gathering->job->steps; step-- > 0;)
        if (low + (1ull << step) <= high && gathering->position[low + (1ull << step)] <= in)
            low += 1ull << step;
    return low;
}

/* What lies together from that byte of the dense data on; false: it would fault. */
static bool read_piece(const struct gathering *gathering, uint64_t byte, struct copy *copy)
{
    const struct gather_kernel_job *job = gathering->job;
    const uint64_t in = byte % job->element, piece = find_piece(gathering, in);
    const uint64_t strided = job->strided + byte / job->element * (uint64_t)job->extent +
                             (uint64_t)gathering->at[piece] + (in - gathering->position[piece]);
    uint64_t length;

    if (in < gathering->position[piece] || in >= gathering->position[piece + 1])
        return false;
    length = gathering->position[piece + 1] - in;
    length = length < job->nbytes - byte ? length : job->nbytes - byte;
    copy->rows = 1;
    copy->width = length;
    return (strided | (job->dense + byte) | length) % job->word == 0 &&
           place_find(CALL_cuLaunchKernel, job->spread ? strided : job->dense + byte, length,
                      &copy->to) == CUDA_OK &&
           place_find(CALL_cuLaunchKernel, job->spread ? job->dense + byte : strided, length,
                      &copy->from) == CUDA_OK &&
           place_reached(gathering->context, &copy->to) &&
           place_reached(gathering->context, &copy->from);
}

static bool read_pieces(const struct gathering *gathering, struct operation *op)
{
    size_t room = 0;
    uint64_t byte = 0;

    while (byte < gathering->job->nbytes) {
        if (op->ncopies == room) {
            room = room ? 2 * room : 64;
            op->copies = realloc(op->copies, room * sizeof *op->copies);
            if (!op->copies)
                sim_die("no memory");
        }
        memset(&op->copies[op->ncopies], 0, sizeof *op->copies);
        if (!read_piece(gathering, byte, &op->copies[op->ncopies]))
            return false;
        byte += op->copies[op->ncopies++].width;
    }
    return true;
}

void launch_gather(const void *parameter, unsigned blocks, struct CUstream_st *stream)
{
    struct gathering gathering = {.job = parameter, .context = stream->context};
    struct operation *op = operation_new(CALL_cuLaunchKernel, 0);

    (void)blocks;
    if (!read_table(&gathering) || !read_pieces(&gathering, op)) {
        op->error = SIM_ILLEGAL_ADDRESS;
        op->ncopies = 0; /* nothing is kept yet */
    }
    stream_submit(stream, op);
}
