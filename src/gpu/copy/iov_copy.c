#include "gpu/copy/iov_copy.h"

#include <stdlib.h>

#include "gpu/copy/copy_agent.h"
#include "gpu/copy/copy_batch.h"
#include "gpu/core/kernels.h"

struct device_table {
    struct device_table *next;
    struct gpu *gpu;
    gpu_address address;
};

struct iov_table {
    struct iov_map map;
    struct device_table *device_tables;
};

struct iov_table *iov_table_make(const struct iov_block *blocks, uint64_t n, int64_t extent)
{
    struct iov_table *table = calloc(1, sizeof *table);

    if (table && iov_map_make(&table->map, blocks, n, extent))
        return table;
    free(table);
    return NULL;
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
    iov_map_clear(&table->map);
    free(table);
}

/* The context is current. Returns when it is there. */
static int upload(const struct gpu *gpu, gpu_address to, const uint64_t *words, size_t nbytes)
{
    const struct cuda_driver *cuda = gpu_driver();
    const int status = cuda->cuMemcpyHtoDAsync_v2(to, words, nbytes, gpu->streams[GPU_OUT]);

    return status == GPU_OK ? cuda->cuStreamSynchronize(gpu->streams[GPU_OUT]) : status;
}

/* The context is current. */
static gpu_address make_device_table(struct iov_table *table, struct gpu *gpu)
{
    const size_t nbytes = iov_map_bytes(&table->map);
    uint64_t *words = malloc(nbytes);
    gpu_address to = 0;

    if (words) {
        iov_map_write(&table->map, words);
        to = gpu_allocate(gpu, nbytes);
    }
    if (to && upload(gpu, to, words, nbytes) != GPU_OK) {
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

static int launch(struct gpu *gpu, gpu_function kernel, enum gpu_own_stream stream,
                  struct iov_kernel_job *job)
{
    if (!agent_serves(gpu, stream))
        return iov_launch(kernel, gpu->streams[stream], job);
    agent_post(gpu, AGENT_IOV, job, sizeof *job);
    return GPU_OK;
}

/* The contiguous bytes at a byte of the message, nbytes at most. */
struct run {
    gpu_address address;
    uint64_t nbytes;
};

/* byte grows from call to call, and *block with it. */
static struct run run_at(const struct iov_end *end, uint64_t byte, uint64_t *block, uint64_t nbytes)
{
    const struct iov_map *map;
    uint64_t size, element, in, p;

    if (!end->table)
        return (struct run){end->address + byte, nbytes};
    map = &end->table->map;
    size = map->position[map->n];
    element = byte / size;
    in = byte % size;
    if (*block / map->n < element)
        *block = element * map->n;
    while (map->position[*block % map->n + 1] <= in)
        ++*block;
    p = *block % map->n;
    in -= map->position[p];
    size = map->position[p + 1] - map->position[p] - in;
    return (struct run){end->address + element * (gpu_address)map->extent +
                            (gpu_address)map->at[p] + in,
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
    const gpu_address table = end->table ? device_table_of(end->table, gpu) : 0;

    *kernel_end = iov_map_end(end->table ? &end->table->map : NULL, table, end->address, alignment);
    return !end->table || table;
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
    struct iov_kernel_end there, here;
    struct iov_kernel_job job;
    bool entered = gpu_enter(gpu);
    gpu_function kernel = kernel_of(gpu, GPU_IOV_KERNEL);
    uint64_t alignment = 0;
    int status = GPU_OK;

    if (kernel &&
        (!fill_end(to, gpu, &there, &alignment) || !fill_end(from, gpu, &here, &alignment)))
        kernel = NULL;
    if (kernel) {
        job = iov_job(&there, &here, nbytes, alignment);
        status = launch(gpu, kernel, stream, &job);
    }
    gpu_leave(entered);
    if (!kernel)
        return copy_blocks(gpu, stream, to, from, nbytes, err);
    return status == GPU_OK ? 0 : gpu_error(status, "strided data cannot be copied", err);
}
