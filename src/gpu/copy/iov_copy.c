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

struct table {
    struct table *next;
    struct gpu *gpu;
    gpu_address address;
};

struct iov_table {
    uint64_t n;
    int64_t extent;
    int64_t *at;
    uint64_t *position; /* n + 1 */
    uint64_t common;    /* a bit is set that is set in any length or distance */
    unsigned steps;
    struct table *tables;
};

/* Small elements are taken several at a time. */
static uint64_t elements_at_once(uint64_t nbytes)
{
    return nbytes < LEAST ? (LEAST + nbytes - 1) / nbytes : 1;
}

static void fill(struct iov_table *gather, const struct iov_block *pieces, uint64_t n,
                 int64_t extent, uint64_t times)
{
    uint64_t dense = 0, to = 0;

    for (uint64_t i = 0; i < times; i++)
        for (uint64_t p = 0; p < n; p++, to++) {
            gather->at[to] = (int64_t)i * extent + pieces[p].at;
            gather->position[to] = dense;
            dense += pieces[p].nbytes;
            gather->common |= (uint64_t)gather->at[to] | pieces[p].nbytes;
        }
    gather->position[to] = dense;
    gather->n = to;
    gather->extent = (int64_t)times * extent;
    gather->common |= (uint64_t)gather->extent;
}

struct iov_table *iov_table_make(const struct iov_block *pieces, uint64_t n, int64_t extent)
{
    struct iov_table *gather = calloc(1, sizeof *gather);
    uint64_t nbytes = 0, times;

    if (!gather)
        return NULL;
    for (uint64_t p = 0; p < n; p++)
        nbytes += pieces[p].nbytes;
    times = elements_at_once(nbytes);
    gather->at = malloc(n * times * sizeof *gather->at);
    gather->position = malloc((n * times + 1) * sizeof *gather->position);
    if (!gather->at || !gather->position) {
        iov_table_free(gather);
        return NULL;
    }
    fill(gather, pieces, n, extent, times);
    return gather;
}

void iov_table_free(struct iov_table *gather)
{
    struct table *table;

    while ((table = gather->tables)) {
        if (table->address)
            gpu_free_deferred(table->gpu, table->address);
        gather->tables = table->next;
        free(table);
    }
    free(gather->at);
    free(gather->position);
    free(gather);
}

/* The piece that each tile's first byte lies in. */
static void index_tiles(struct iov_table *gather, uint64_t *first, uint64_t tiles)
{
    uint64_t piece = 0, most = 0;

    for (uint64_t tile = 0; tile < tiles; tile++) {
        while (gather->position[piece + 1] <= tile * TILE)
            piece++;
        first[tile] = piece;
    }
    first[tiles] = gather->n - 1;
    for (uint64_t tile = 0; tile < tiles; tile++)
        if (first[tile + 1] - first[tile] > most)
            most = first[tile + 1] - first[tile];
    gather->steps = 0;
    while (most >> gather->steps)
        gather->steps++;
}

/* As the kernel wants it; the call returns when it is there. */
static int upload(struct iov_table *gather, struct gpu *gpu, gpu_address to, uint64_t *words,
                  uint64_t nwords, uint64_t tiles)
{
    const struct cuda_driver *cuda = gpu_driver();
    int status;

    memcpy(words, gather->position, (gather->n + 1) * sizeof *words);
    memcpy(words + gather->n + 1, gather->at, gather->n * sizeof *words);
    index_tiles(gather, words + 2 * gather->n + 1, tiles);
    status = cuda->cuMemcpyHtoDAsync_v2(to, words, nwords * sizeof *words, gpu->streams[GPU_OUT]);
    return status == GPU_OK ? cuda->cuStreamSynchronize(gpu->streams[GPU_OUT]) : status;
}

/* The context is current. */
static gpu_address make_table(struct iov_table *gather, struct gpu *gpu)
{
    const uint64_t tiles = (gather->position[gather->n] + TILE - 1) / TILE;
    const uint64_t nwords = 2 * gather->n + 1 + tiles + 1;
    uint64_t *words = malloc(nwords * sizeof *words);
    gpu_address to = 0;

    if (words)
        to = gpu_allocate(gpu, nwords * sizeof *words);
    if (to && upload(gather, gpu, to, words, nwords, tiles) != GPU_OK) {
        gpu_free_deferred(gpu, to);
        to = 0;
    }
    free(words);
    return to;
}

/* 0: none, this time. */
static gpu_address table_of(struct iov_table *gather, struct gpu *gpu)
{
    struct table *table = gather->tables;
    gpu_address address;

    while (table && table->gpu != gpu)
        table = table->next;
    if (table)
        return table->address;
    address = make_table(gather, gpu);
    if (!address)
        return 0;
    table = malloc(sizeof *table);
    if (!table) {
        gpu_free_deferred(gpu, address);
        return 0;
    }
    *table = (struct table){gather->tables, gpu, address};
    gather->tables = table;
    return address;
}

void iov_table_prepare(struct iov_table *gather, struct gpu *gpu)
{
    bool entered = gpu_enter(gpu);

    if (kernel_of(gpu, GPU_IOV_KERNEL))
        table_of(gather, gpu);
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

/* What lies together from that byte of the message on, nbytes at most. */
struct run {
    gpu_address address;
    uint64_t nbytes;
};

/* byte grows from call to call, and *piece with it. */
static struct run run_at(const struct iov_end *end, uint64_t byte, uint64_t *piece, uint64_t nbytes)
{
    const struct iov_table *gather = end->gather;
    uint64_t size, element, in, p;

    if (!gather)
        return (struct run){end->address + byte, nbytes};
    size = gather->position[gather->n];
    element = byte / size;
    in = byte % size;
    if (*piece / gather->n < element)
        *piece = element * gather->n;
    while (gather->position[*piece % gather->n + 1] <= in)
        ++*piece;
    p = *piece % gather->n;
    in -= gather->position[p];
    size = gather->position[p + 1] - gather->position[p] - in;
    return (struct run){end->address + element * (gpu_address)gather->extent +
                            (gpu_address)gather->at[p] + in,
                        size < nbytes ? size : nbytes};
}

/* Without the kernel: piece by piece, many to a call where the driver can. */
static int copy_pieces(struct gpu *gpu, enum gpu_own_stream stream, const struct iov_end *to,
                       const struct iov_end *from, uint64_t nbytes, struct gpubind_error *err)
{
    struct copy copies[COPIES_MOST];
    uint64_t to_piece = 0, from_piece = 0;
    int n = 0;

    for (uint64_t done = 0; done < nbytes;) {
        const struct run there = run_at(to, done, &to_piece, nbytes - done);
        const struct run here = run_at(from, done, &from_piece, there.nbytes);

        copies[n++] = (struct copy){there.address, here.address, here.nbytes, true};
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
static bool fill_end(const struct iov_end *end, struct gpu *gpu, struct iov_kernel_end *made,
                     uint64_t *all)
{
    struct iov_table *gather = end->gather;

    *made = (struct iov_kernel_end){.address = end->address};
    *all |= end->address;
    if (!gather)
        return true;
    *all |= gather->common;
    made->table = table_of(gather, gpu);
    made->n = gather->n;
    made->nbytes = gather->position[gather->n];
    made->extent = gather->extent;
    made->steps = gather->steps;
    return made->table;
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
    uint64_t all = nbytes;
    int status = GPU_OK;

    if (kernel && (!fill_end(to, gpu, &job.to, &all) || !fill_end(from, gpu, &job.from, &all)))
        kernel = NULL;
    job.word = word_of(all);
    if (kernel)
        status = launch(gpu, kernel, stream, &job);
    gpu_leave(entered);
    if (!kernel)
        return copy_pieces(gpu, stream, to, from, nbytes, err);
    return status == GPU_OK ? 0 : gpu_error(status, "strided data cannot be copied", err);
}
