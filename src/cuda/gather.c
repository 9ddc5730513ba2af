#include "cuda/gather.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/copies.h"
#include "cuda/gather_kernel.h"
#include "cuda/kernels.h"

enum { PART = GATHER_KERNEL_PART, WORD = 16, BLOCKS = 32 /* as layout_copy has */ };

struct table {
    struct table *next;
    struct gpu *gpu;
    cuda_address address;
};

struct gather {
    uint64_t n;
    int64_t extent;
    int64_t *at;
    uint64_t *position; /* n + 1 */
    uint64_t common;    /* a bit is set that is set in any length or distance */
    unsigned steps;
    struct table *tables;
};

/* Small elements are taken several at a time: the kernel's are larger than its parts. */
static uint64_t elements_at_once(uint64_t nbytes)
{
    return nbytes < PART ? (PART + nbytes - 1) / nbytes : 1;
}

static void fill(struct gather *gather, const struct gather_piece *pieces, uint64_t n,
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

struct gather *gather_make(const struct gather_piece *pieces, uint64_t n, int64_t extent)
{
    struct gather *gather = calloc(1, sizeof *gather);
    uint64_t nbytes = 0, times;

    if (!gather)
        return NULL;
    for (uint64_t p = 0; p < n; p++)
        nbytes += pieces[p].nbytes;
    times = elements_at_once(nbytes);
    gather->at = malloc(n * times * sizeof *gather->at);
    gather->position = malloc((n * times + 1) * sizeof *gather->position);
    if (!gather->at || !gather->position) {
        gather_free(gather);
        return NULL;
    }
    fill(gather, pieces, n, extent, times);
    return gather;
}

void gather_free(struct gather *gather)
{
    struct table *table;

    while ((table = gather->tables)) {
        if (table->address)
            gpu_free(table->gpu, table->address);
        gather->tables = table->next;
        free(table);
    }
    free(gather->at);
    free(gather->position);
    free(gather);
}

/* The piece that each part's first byte lies in. */
static void index_parts(struct gather *gather, uint64_t *first, uint64_t parts)
{
    uint64_t piece = 0, most = 0;

    for (uint64_t part = 0; part < parts; part++) {
        while (gather->position[piece + 1] <= part * PART)
            piece++;
        first[part] = piece;
    }
    first[parts] = gather->n - 1;
    for (uint64_t part = 0; part < parts; part++)
        if (first[part + 1] - first[part] > most)
            most = first[part + 1] - first[part];
    gather->steps = 0;
    while (most >> gather->steps)
        gather->steps++;
}

/* As the kernel wants it; the call returns when it is there. */
static int upload(struct gather *gather, struct gpu *gpu, cuda_address to, uint64_t *words,
                  uint64_t nwords, uint64_t parts)
{
    const struct cuda_driver *cuda = gpu_driver();
    int status;

    memcpy(words, gather->position, (gather->n + 1) * sizeof *words);
    memcpy(words + gather->n + 1, gather->at, gather->n * sizeof *words);
    index_parts(gather, words + 2 * gather->n + 1, parts);
    status = cuda->cuMemcpyHtoDAsync_v2(to, words, nwords * sizeof *words, gpu->streams[GPU_OUT]);
    return status == CUDA_OK ? cuda->cuStreamSynchronize(gpu->streams[GPU_OUT]) : status;
}

/* The context is current. */
static cuda_address make_table(struct gather *gather, struct gpu *gpu)
{
    const uint64_t parts = (gather->position[gather->n] + PART - 1) / PART;
    const uint64_t nwords = 2 * gather->n + 1 + parts + 1;
    uint64_t *words = malloc(nwords * sizeof *words);
    cuda_address to = 0;

    if (!words || gpu_driver()->cuMemAlloc_v2(&to, nwords * sizeof *words) != CUDA_OK)
        to = 0;
    if (to && upload(gather, gpu, to, words, nwords, parts) != CUDA_OK) {
        gpu_free(gpu, to);
        to = 0;
    }
    free(words);
    return to;
}

/* 0: none, this time. */
static cuda_address table_of(struct gather *gather, struct gpu *gpu)
{
    struct table *table = gather->tables;
    cuda_address address;

    while (table && table->gpu != gpu)
        table = table->next;
    if (table)
        return table->address;
    address = make_table(gather, gpu);
    if (!address)
        return 0;
    table = malloc(sizeof *table);
    if (!table) {
        gpu_free(gpu, address);
        return 0;
    }
    *table = (struct table){gather->tables, gpu, address};
    gather->tables = table;
    return address;
}

static unsigned word_of(uint64_t bits)
{
    unsigned word = WORD;

    while (bits % word)
        word /= 2;
    return word;
}

static int launch(const struct gpu *gpu, struct CUfunc_st *kernel, enum gpu_stream stream,
                  struct gather_kernel_job *job)
{
    const uint64_t warps = GATHER_KERNEL_THREADS / 32, parts = (job->nbytes + PART - 1) / PART;
    const uint64_t wanted = (parts + warps - 1) / warps;
    void *parameters[] = {job};

    return gpu_driver()->cuLaunchKernel(kernel, wanted < BLOCKS ? (unsigned)wanted : BLOCKS, 1, 1,
                                        GATHER_KERNEL_THREADS, 1, 1, 0, gpu->streams[stream],
                                        parameters, NULL);
}

/* Without the kernel: piece by piece, many to a call where the driver can. */
static int copy_pieces(struct gpu *gpu, enum gpu_stream stream, const struct gather *gather,
                       cuda_address strided, cuda_address dense, uint64_t nbytes, bool spread,
                       struct gpubind_error *err)
{
    struct copy copies[COPIES_MOST];
    int n = 0;

    for (uint64_t done = 0, p = 0; done < nbytes; p++) {
        const uint64_t element = p / gather->n, piece = p % gather->n;
        uint64_t length = gather->position[piece + 1] - gather->position[piece];
        const cuda_address there = strided + element * (cuda_address)gather->extent +
                                   (cuda_address)gather->at[piece];

        length = length < nbytes - done ? length : nbytes - done;
        copies[n++] = (struct copy){spread ? there : dense + done, spread ? dense + done : there,
                                    length, true};
        done += length;
        if (n < COPIES_MOST && done < nbytes)
            continue;
        if (copies_queue(gpu, stream, copies, n, err) < 0)
            return -1;
        n = 0;
    }
    return 0;
}

int gather_copy(struct gpu *gpu, enum gpu_stream stream, struct gather *gather,
                cuda_address strided, cuda_address dense, uint64_t nbytes, bool spread,
                struct gpubind_error *err)
{
    struct gather_kernel_job job = {.strided = strided, .dense = dense, .n = gather->n,
                                    .nbytes = nbytes, .element = gather->position[gather->n],
                                    .extent = gather->extent, .spread = spread};
    bool entered = gpu_enter(gpu);
    struct CUfunc_st *kernel = kernel_of(gpu, GPU_GATHER_KERNEL);
    int status;

    job.table = kernel ? table_of(gather, gpu) : 0;
    job.steps = gather->steps;
    job.word = word_of(gather->common | strided | dense | nbytes);
    status = job.table ? launch(gpu, kernel, stream, &job) : CUDA_OK;
    gpu_leave(entered);
    if (!job.table)
        return copy_pieces(gpu, stream, gather, strided, dense, nbytes, spread, err);
    return status == CUDA_OK ? 0 : gpu_error(status, "strided data cannot be copied", err);
}
