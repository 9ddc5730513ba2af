#include "mpi/pack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct pack {
    char *buffer; /* the application's */
    struct memory memory;
    struct type_block *blocks; /* the type may be freed while a message is under way */
    int nblocks;
    MPI_Aint extent;
    uint64_t count;
    cuda_address on_gpu; /* the dense buffer */
    char *on_host;
    bool on_stream; /* the order is that of a stream that has got there */
};

void pack_free(struct pack *pack)
{
    if (!pack)
        return;
    if (pack->on_gpu)
        gpu_free(pack->memory.gpu, pack->on_gpu);
    free(pack->on_host);
    free(pack->blocks);
    free(pack);
}

static void move_on_host(const struct pack *pack, uint64_t nbytes, bool spread)
{
    char *dense = pack->on_host, *end = dense + nbytes;

    for (uint64_t i = 0; i < pack->count && dense < end; i++)
        for (int b = 0; b < pack->nblocks && dense < end; b++) {
            const struct type_block *block = &pack->blocks[b];
            char *strided = pack->buffer + (MPI_Aint)i * pack->extent + block->at;
            size_t n = block->nbytes < (size_t)(end - dense) ? block->nbytes : (size_t)(end - dense);

            memcpy(spread ? strided : dense, spread ? dense : strided, n);
            dense += n;
        }
}

/* One 2D copy moves the same block of all elements. */
static int move_column(const struct pack *pack, int b, cuda_address dense, size_t pitch,
                       uint64_t rows, bool spread)
{
    const struct type_block *block = &pack->blocks[b];
    const cuda_address strided = pack->memory.address + (cuda_address)block->at;
    struct cuda_copy_2d copy = {.from_type = CUDA_MEMORY_DEVICE, .to_type = CUDA_MEMORY_DEVICE,
                                .from_device = spread ? dense : strided,
                                .to_device = spread ? strided : dense,
                                .from_pitch = spread ? pitch : (size_t)pack->extent,
                                .to_pitch = spread ? (size_t)pack->extent : pitch,
                                .width = block->nbytes, .height = rows};

    return gpu_driver()->cuMemcpy2DAsync_v2(&copy, pack->memory.gpu->streams[GPU_OUT]);
}

/* What a 2D copy takes for the distance of its rows. */
static bool is_pitch(MPI_Aint distance, size_t width)
{
    return distance >= (MPI_Aint)width && distance <= INT_MAX;
}

/* Rows of equal length at an equal distance, as a vector has them; they are one 2D
 * copy for each element. */
static bool is_even(const struct pack *pack)
{
    const struct type_block *blocks = pack->blocks;

    for (int b = 1; b < pack->nblocks; b++)
        if (blocks[b].nbytes != blocks[0].nbytes ||
            blocks[b].at - blocks[b - 1].at != blocks[1].at - blocks[0].at)
            return false;
    return pack->nblocks > 1 && is_pitch(blocks[1].at - blocks[0].at, blocks[0].nbytes);
}

/* The columns of all elements can be 2D copies. */
static bool has_columns(const struct pack *pack)
{
    for (int b = 0; b < pack->nblocks; b++)
        if (!is_pitch(pack->extent, pack->blocks[b].nbytes))
            return false;
    return true;
}

static int move_even(struct pack *pack, uint64_t elements, bool spread)
{
    const size_t width = pack->blocks[0].nbytes, rows = (size_t)pack->nblocks;
    const MPI_Aint extent = pack->extent;
    int status = CUDA_OK;

    pack->extent = pack->blocks[1].at - pack->blocks[0].at;
    for (uint64_t i = 0; i < elements && status == CUDA_OK; i++) {
        pack->memory.address += i ? (cuda_address)extent : 0;
        status = move_column(pack, 0, pack->on_gpu + i * width * rows, width, rows, spread);
    }
    pack->memory.address -= elements ? (elements - 1) * (cuda_address)extent : 0;
    pack->extent = extent;
    return status;
}

static int move_columns(const struct pack *pack, size_t nbytes, uint64_t elements, bool spread)
{
    cuda_address dense = pack->on_gpu;
    int status = CUDA_OK;

    for (int b = 0; b < pack->nblocks && status == CUDA_OK; b++) {
        status = move_column(pack, b, dense, nbytes, elements, spread);
        dense += pack->blocks[b].nbytes;
    }
    return status;
}

static size_t element_nbytes(const struct pack *pack)
{
    size_t nbytes = 0;

    for (int b = 0; b < pack->nblocks; b++)
        nbytes += pack->blocks[b].nbytes;
    return nbytes;
}

/* The first nbytes of an element, block by block: a message may end within one. */
static int move_part(const struct pack *pack, uint64_t element, size_t one, size_t nbytes,
                     bool spread)
{
    cuda_address dense = pack->on_gpu + element * one;
    const cuda_address strided = pack->memory.address + element * (cuda_address)pack->extent;
    int status = CUDA_OK;

    for (int b = 0; b < pack->nblocks && nbytes > 0 && status == CUDA_OK; b++) {
        const struct type_block *block = &pack->blocks[b];
        const size_t n = block->nbytes < nbytes ? block->nbytes : nbytes;
        const cuda_address place = strided + (cuda_address)block->at;

        status = gpu_driver()->cuMemcpyDtoDAsync_v2(spread ? place : dense,
                                                    spread ? dense : place, n,
                                                    pack->memory.gpu->streams[GPU_OUT]);
        dense += n;
        nbytes -= n;
    }
    return status;
}

static int move_on_gpu(struct pack *pack, uint64_t nbytes, bool spread, struct gpubind_error *err)
{
    const size_t one = element_nbytes(pack);
    const uint64_t elements = nbytes / one;
    struct gpu *gpu = pack->memory.gpu;
    bool entered;
    int status = CUDA_OK;

    if (!pack->on_stream && gpu_order_after_legacy(gpu, GPU_OUT, err) < 0)
        return -1;
    entered = gpu_enter(gpu);
    if (is_even(pack) && ((uint64_t)pack->nblocks > elements || !has_columns(pack)))
        status = move_even(pack, elements, spread);
    else if (has_columns(pack))
        status = move_columns(pack, one, elements, spread);
    else
        for (uint64_t i = 0; i < elements && status == CUDA_OK; i++)
            status = move_part(pack, i, one, one, spread);
    if (status == CUDA_OK && nbytes % one)
        status = move_part(pack, elements, one, nbytes % one, spread);
    if (status == CUDA_OK)
        status = gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_OUT]);
    gpu_leave(entered);
    return status == CUDA_OK ? 0 : gpu_error(status, "strided data cannot be copied", err);
}

static int allocate(struct pack *pack, uint64_t nbytes)
{
    bool entered;

    if (!pack->memory.gpu) {
        pack->on_host = malloc(nbytes);
        return pack->on_host ? 0 : -1;
    }
    entered = gpu_enter(pack->memory.gpu);
    if (gpu_driver()->cuMemAlloc_v2(&pack->on_gpu, nbytes) != CUDA_OK)
        pack->on_gpu = 0;
    gpu_leave(entered);
    return pack->on_gpu ? 0 : -1;
}

int pack_make(struct gpubind_operation *operation, const struct type_shape *shape, uint64_t count,
              struct gpubind_error *err)
{
    struct pack *pack = calloc(1, sizeof *pack);
    const uint64_t nbytes = operation->nbytes;

    operation->pack = pack;
    if (pack)
        pack->blocks = malloc((size_t)shape->nblocks * sizeof *pack->blocks);
    if (!pack || !pack->blocks)
        return error_set(err, "out of memory");
    memcpy(pack->blocks, shape->blocks, (size_t)shape->nblocks * sizeof *pack->blocks);
    pack->nblocks = shape->nblocks;
    pack->extent = shape->extent;
    pack->count = count;
    pack->buffer = operation->buffer;
    pack->memory = operation->memory;
    pack->on_stream = operation->order == ORDER_GATED;
    if (allocate(pack, nbytes) < 0)
        return error_set(err, "there is no memory to pack %llu bytes of strided data",
                         (unsigned long long)nbytes);
    operation->buffer = pack->on_gpu ? (void *)(uintptr_t)pack->on_gpu : pack->on_host;
    if (memory_of(operation->buffer, &operation->memory, err) < 0)
        return -1;
    if (pack->on_stream)
        return 0;
    operation->order = ORDER_DONE; /* of the library's buffer; packing has its own */
    return operation->kind == OPERATION_RECEIVE ? 0 : pack_gather(operation, err);
}

int pack_gather(struct gpubind_operation *operation, struct gpubind_error *err)
{
    struct pack *pack = operation->pack;

    if (!pack)
        return 0;
    if (pack->on_gpu)
        return move_on_gpu(pack, operation->nbytes, false, err);
    move_on_host(pack, operation->nbytes, false);
    return 0;
}

int pack_spread(struct gpubind_operation *operation, struct gpubind_error *err)
{
    struct pack *pack = operation->pack;

    if (!pack || operation->got_bytes == 0)
        return 0;
    if (pack->on_gpu)
        return move_on_gpu(pack, operation->got_bytes, true, err);
    move_on_host(pack, operation->got_bytes, true);
    return 0;
}
