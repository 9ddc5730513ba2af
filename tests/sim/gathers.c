/* The gather kernel: searches the tables as the kernel does, from piece to piece. */
#include <stdlib.h>
#include <string.h>

#include "gpu/copy/iov_copy_kernel.h"
#include "tests/sim/kernels.h"

struct end {
    const struct iov_kernel_end *told;
    const uint64_t *position, *first; /* NULL: it is dense */
    const int64_t *at;
};

struct gathering {
    const struct iov_kernel_job *job;
    const struct CUctx_st *context;
    struct end to, from;
};

/* The table in the device's memory; its size follows from what is told. */
static bool read_table(struct end *end, const struct iov_kernel_end *told,
                       const struct CUctx_st *context)
{
    const uint64_t tiles = (told->nbytes + IOV_KERNEL_TILE - 1) / IOV_KERNEL_TILE;
    const uint64_t nbytes = 8 * (2 * told->n + 1 + tiles + 1);
    struct place place;

    *end = (struct end){.told = told};
    if (!told->table)
        return true;
    if (told->nbytes < IOV_KERNEL_ELEMENT ||
        place_find(CALL_cuLaunchKernel, told->table, nbytes, &place) != CUDA_OK ||
        !place_reached(context, &place))
        return false;
    end->position = (const uint64_t *)(const void *)place.bytes;
    end->at = (const int64_t *)(end->position + told->n + 1);
    end->first = end->position + 2 * told->n + 1;
    return end->position[told->n] == told->nbytes;
}

static uint64_t find_piece(const struct end *end, uint64_t in)
{
    const uint64_t tile = in / IOV_KERNEL_TILE, high = end->first[tile + 1];
    uint64_t low = end->first[tile];

    for (unsigned step = (unsigned)end->told->steps; step-- > 0;)
        if (low + (1ull << step) <= high && end->position[low + (1ull << step)] <= in)
            low += 1ull << step;
    return low;
}

/* Where that byte of the message lies; *length is made less when less lies together. false:
 * the table is wrong. */
static bool find_byte(const struct end *end, uint64_t byte, uint64_t *address, uint64_t *length)
{
    const struct iov_kernel_end *told = end->told;
    uint64_t in, piece;

    *address = told->address + byte;
    if (!end->position)
        return true;
    in = byte % told->nbytes;
    piece = find_piece(end, in);
    if (in < end->position[piece] || in >= end->position[piece + 1])
        return false;
    *address = told->address + byte / told->nbytes * (uint64_t)told->extent +
               (uint64_t)end->at[piece] + (in - end->position[piece]);
    if (*length > end->position[piece + 1] - in)
        *length = end->position[piece + 1] - in;
    return true;
}

static bool find_place(const struct gathering *gathering, uint64_t address, uint64_t length,
                       struct place *place)
{
    return (address | length) % gathering->job->word == 0 &&
           place_find(CALL_cuLaunchKernel, address, length, place) == CUDA_OK &&
           place_reached(gathering->context, place);
}

/* What lies together at both ends from that byte on; false: it would fault. */
static bool read_piece(const struct gathering *gathering, uint64_t byte, struct copy *copy)
{
    uint64_t to, from, length = gathering->job->nbytes - byte;

    if (!find_byte(&gathering->to, byte, &to, &length) ||
        !find_byte(&gathering->from, byte, &from, &length))
        return false;
    copy->rows = 1;
    copy->width = length;
    return find_place(gathering, to, length, &copy->to) &&
           find_place(gathering, from, length, &copy->from);
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

struct operation *make_gather(const void *parameter, unsigned blocks, struct CUstream_st *stream)
{
    struct gathering gathering = {.job = parameter, .context = stream->context};
    struct operation *op = operation_new(CALL_cuLaunchKernel, 0);

    (void)blocks;
    if (!read_table(&gathering.to, &gathering.job->to, stream->context) ||
        !read_table(&gathering.from, &gathering.job->from, stream->context) ||
        !read_pieces(&gathering, op)) {
        op->error = kernel_fault();
        op->ncopies = 0; /* nothing is kept yet */
    }
    return op;
}
