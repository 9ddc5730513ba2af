#include "gpu/copy/iov_copy.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/copy/copy_agent.h"
#include "gpu/copy/copy_batch.h"
#include "gpu/copy/iov_copy_kernel.h"
#include "gpu/core/kernels.h"

enum {
    PART = IOV_KERNEL_PART,
    TILE = IOV_KERNEL_TILE,
    LEAST = IOV_KERNEL_ELEMENT,
    WORD = 16,
    BLOCKS = 32 /* as strided_copy has */
};

struct device_table {
    struct device_table *next;
    struct gpu *gpu;
    gpu_address address;
};

struct iov_table {
    uint64_t n;
    int64_t extent;
    int64_t *at;
    uint64_t *position; /* n + 1 */
    uint64_t alignment; /* the bits that are set in any length or offset */
    unsigned steps;
    struct device_table *device_tables;
};

/* Small elements are taken several at a time. */
static uint64_t elements_at_once(uint64_t nbytes)
{
    return nbytes < LEAST ? (LEAST + nbytes - 1) / nbytes : 1;
}

static void fill(struct iov_table *table, const struct iov_block *blocks, uint64_t n,
                 int64_t extent, uint64_t times)
{
    uint64_t dense = 0, to = 0;

    for (uint64_t i = 0; i < times; i++)
        for (uint64_t p = 0; p < n; p++, to++) {
            table->at[to] = (int64_t)i * extent + blocks[p].at;
            table->position[to] = dense;
            dense += blocks[p].nbytes;
            table->alignment |= (uint64_t)table->at[to] | blocks[p].nbytes;
        }
    table->position[to] = dense;
    table->n = to;
    table->extent = (int64_t)times * extent;
    table->alignment |= (uint64_t)table->extent;
}

struct iov_table *iov_table_make(const struct iov_block *blocks, uint64_t n, int64_t extent)
{
    struct iov_table *table = calloc(1, sizeof *table);
    uint64_t nbytes = 0, times;

    if (!table)
        return NULL;
    for (uint64_t p = 0; p < n; p++)
        nbytes += blocks[p].nbytes;
    times = elements_at_once(nbytes);
    table->at = malloc(n * times * sizeof *table->at);
    table->position = malloc((n * times + 1) * sizeof *table->position);
    if (!table->at || !table->position) {
        iov_table_free(table);
        return NULL;
    }
    fill(table, blocks, n, extent, times);
    return table;
}

void iov_table_free(struct iov_table *table)
{
    struct device_table *device_table;

    while ((device_table = table->device_tables)) {
        if (device_table->address)
            gpu_free_deferred(device_table->gpu, device_table->address);
        table->device_tables = device_table->next;
        free(device_table);
    }
    free(table->at);
    free(table->position);
    free(table);
}

/* The block that each tile's first byte lies in. */
static void index_tiles(struct iov_table *table, uint64_t *first, uint64_t tiles)
{
    uint64_t block = 0, most = 0;

    for (uint64_t tile = 0; tile < tiles; tile++) {
        while (table->position[block + 1] <= tile * TILE)
            block++;
        first[tile] = block;
    }
    first[tiles] = table->n - 1;
    for (uint64_t tile = 0; tile < tiles; tile++)
        if (first[tile + 1] - first[tile] > most)
            most = first[tile + 1] - first[tile];
    table->steps = 0;
    while (most >> table->steps)
        table->steps++;
}

/* Uploads the table in the layout of iov_copy_kernel.h; returns when it is there. */
static int upload(struct iov_table *table, struct gpu *gpu, gpu_address to, uint64_t *words,
                  uint64_t nwords, uint64_t tiles)
{
    const struct cuda_driver *cuda = gpu_driver();
    int status;

    memcpy(words, table->position, (table->n + 1) * sizeof *words);
    memcpy(words + table->n + 1, table->at, table->n * sizeof *words);
    index_tiles(table, words + 2 * table->n + 1, tiles);
    status = cuda->cuMemcpyHtoDAsync_v2(to, words, nwords * sizeof *words, gpu->streams[GPU_OUT]);
    return status == GPU_OK ? cuda->cuStreamSynchronize(gpu->streams[GPU_OUT]) : status;
}

/* The context is current. */
static gpu_address make_device_table(struct iov_table *table, struct gpu *gpu)
{
    const uint64_t tiles = (table->position[table->n] + TILE - 1) / TILE;
    const uint64_t nwords = 2 * table->n + 1 + tiles + 1;
    uint64_t *words = malloc(nwords * sizeof *words);
    gpu_address to = 0;

    if (words)
        to = gpu_allocate(gpu, nwords * sizeof *words);
    if (to && upload(table, gpu, to, words, nwords, tiles) != GPU_OK) {
        gpu_free_deferred(gpu, to);
        to = 0;
    }
    free(words);
    return to;
}

/* 0: none, this time. */
static gpu_address device_table_of(struct iov_table *table, struct gpu *gpu)
{
    struct device_table *device_table = table->device_tables;
    gpu_address address;

    while (device_table && device_table->gpu != gpu)
        device_table = device_table->next;
    if (device_table)
        return device_table->address;
    address = make_device_table(table, gpu);
    if (!address)
        return 0;
    device_table = malloc(sizeof *device_table);
    if (!device_table) {
        gpu_free_deferred(gpu, address);
        return 0;
    }
    *device_table = (struct device_table){table->device_tables, gpu, address};
    table->device_tables = device_table;
    return address;
}

void iov_table_prepare(struct iov_table *table, struct gpu *gpu)
{
    bool entered = gpu_enter(gpu);

    if (kernel_of(gpu, GPU_IOV_KERNEL))
        device_table_of(table, gpu);
    gpu_leave(entered);
}

static unsigned word_of(uint64_t bits)
{
    unsigned word = WORD;

    while (bits % word)
        word /= 2;
    return word;
}

/* Few warps go to as many blocks as there may be. */
static int launch(struct gpu *gpu, gpu_function kernel, enum gpu_own_stream stream,
                  struct iov_kernel_job *job)
{
    const uint64_t parts = (job->nbytes + PART - 1) / PART;
    const unsigned blocks = parts < BLOCKS ? (unsigned)parts : BLOCKS;
    const uint64_t threads = (parts + blocks - 1) / blocks * 32;
    void *parameters[] = {job};

    if (agent_serves(gpu, stream)) {
        agent_post(gpu, AGENT_IOV, job, sizeof *job);
        return GPU_OK;
    }
    return gpu_driver()->cuLaunchKernel(
        kernel, blocks, 1, 1, threads < IOV_KERNEL_THREADS ? (unsigned)threads : IOV_KERNEL_THREADS,
        1, 1, 0, gpu->streams[stream], parameters, NULL);
}

/* The contiguous bytes at a byte of the message, nbytes at most. */
struct run {
    gpu_address address;
    uint64_t nbytes;
};

/* byte grows from call to call, and *block with it. */
static struct run run_at(const struct iov_end *end, uint64_t byte, uint64_t *block, uint64_t nbytes)
{
    const struct iov_table *table = end->table;
    uint64_t size, element, in, p;

    if (!table)
        return (struct run){end->address + byte, nbytes};
    size = table->position[table->n];
    element = byte / size;
    in = byte % size;
    if (*block / table->n < element)
        *block = element * table->n;
    while (table->position[*block % table->n + 1] <= in)
        ++*block;
    p = *block % table->n;
    in -= table->position[p];
    size = table->position[p + 1] - table->position[p] - in;
    return (struct run){end->address + element * (gpu_address)table->extent +
                            (gpu_address)table->at[p] + in,
                        size < nbytes ? size : nbytes};
}

/* Without the kernel: block by block, many to a call where the driver can. */
static int copy_blocks(struct gpu *gpu, enum gpu_own_stream stream, const struct iov_end *to,
                       const struct iov_end *from, uint64_t nbytes, struct gpubind_error *err)
{
    struct copy copies[COPIES_MOST];
    uint64_t to_block = 0, from_block = 0;
    int n = 0;

    for (uint64_t done = 0; done < nbytes;) {
        const struct run there = run_at(to, done, &to_block, nbytes - done);
        const struct run here = run_at(from, done, &from_block, there.nbytes);

        copies[n++] = (struct copy){there.address, here.address, here.nbytes, COPY_IN_GPU};
        done += here.nbytes;
        if (n < COPIES_MOST && done < nbytes)
            continue;
        if (copies_queue(gpu, stream, copies, n, err) < 0)
            return -1;
        n = 0;
    }
    return 0;
}

/* false: its table cannot be had, this time. */
static bool fill_end(const struct iov_end *end, struct gpu *gpu, struct iov_kernel_end *kernel_end,
                     uint64_t *alignment)
{
    struct iov_table *table = end->table;

    *kernel_end = (struct iov_kernel_end){.address = end->address};
    *alignment |= end->address;
    if (!table)
        return true;
    *alignment |= table->alignment;
    kernel_end->table = device_table_of(table, gpu);
    kernel_end->n = table->n;
    kernel_end->nbytes = table->position[table->n];
    kernel_end->extent = table->extent;
    kernel_end->steps = table->steps;
    return kernel_end->table;
}

bool iov_copy_has_kernel(struct gpu *gpu)
{
    bool entered = gpu_enter(gpu);
    gpu_function kernel = kernel_of(gpu, GPU_IOV_KERNEL);

    gpu_leave(entered);
    return kernel;
}

int iov_copy(struct gpu *gpu, enum gpu_own_stream stream, const struct iov_end *to,
             const struct iov_end *from, uint64_t nbytes, struct gpubind_error *err)
{
    struct iov_kernel_job job = {.nbytes = nbytes};
    bool entered = gpu_enter(gpu);
    gpu_function kernel = kernel_of(gpu, GPU_IOV_KERNEL);
    uint64_t alignment = nbytes;
    int status = GPU_OK;

    if (kernel &&
        (!fill_end(to, gpu, &job.to, &alignment) || !fill_end(from, gpu, &job.from, &alignment)))
        kernel = NULL;
    job.word = word_of(alignment);
    if (kernel)
        status = launch(gpu, kernel, stream, &job);
    gpu_leave(entered);
    if (!kernel)
        return copy_blocks(gpu, stream, to, from, nbytes, err);
    return status == GPU_OK ? 0 : gpu_error(status, "strided data cannot be copied", err);
}
