/* The bare copies that messages are compared with. */
#include <stdio.h>
#include <string.h>

#include "bench/pt2pt/task.h"

/* The largest message, and windows of smaller ones: copies wrap around. */
#define HOST_NBYTES ((size_t)64 << 20)

/* What peers tell each other: a handle of bench.in. */
struct offer {
    int good;
    struct cuda_ipc_handle handle;
};

static bool open_remote(struct bench *bench)
{
    const struct gpu_driver *driver = &bench->gpu.driver;
    struct offer mine, theirs;
    cuda_address remote = 0;

    memset(&mine, 0, sizeof mine);
    mine.good = bench->has_gpu && bench->ranks.one_node &&
                driver->cuIpcGetMemHandle(&mine.handle, gpu_address(bench->in.at)) == CUDA_OK;
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, bench->ranks.peer, BENCH_TAG, &theirs,
                 sizeof theirs, MPI_BYTE, bench->ranks.peer, BENCH_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (!mine.good || !theirs.good ||
        driver->cuIpcOpenMemHandle_v2(&remote, theirs.handle, CUDA_IPC_LAZY_PEER) != CUDA_OK)
        return false;
    bench->copier.remote = (unsigned char *)(uintptr_t)remote;
    return true;
}

static bool open_host(struct bench *bench)
{
    struct gpubind_error err;
    struct copier *copier = &bench->copier;

    if (!bench->has_gpu)
        return true;
    copier->host_nbytes = bench->in.nbytes < HOST_NBYTES ? bench->in.nbytes : HOST_NBYTES;
    for (int i = 0; i < bench->options->nsizes; i++)
        if (bench->options->sizes[i] > copier->host_nbytes)
            copier->host_nbytes = bench->options->sizes[i];
    /* A whole slot, not just the message. */
    copier->host_nbytes = (copier->host_nbytes + 4095) / 4096 * 4096;
    for (int i = 0; i < 2; i++) {
        void *at;

        if (gpu_alloc_host(&bench->gpu, copier->host_nbytes, &at, &err) < 0)
            return false;
        copier->host[i] = at;
    }
    return true;
}

static bool on_all(const struct bench *bench, bool good)
{
    int all = good;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, bench->ranks.working);
    return all;
}

static bool wants_staged(const struct bench_options *options)
{
    const char *path = options->path ? options->path : "";

    if (options->ceiling != CEILING_AUTO)
        return options->ceiling == CEILING_STAGED;
    return options->buffers != BUFFERS_DD || strcmp(path, "shared") == 0 ||
           strcmp(path, "network") == 0;
}

void copier_open(struct bench *bench)
{
    const struct bench_options *options = bench->options;
    struct copier *copier = &bench->copier;

    if (options->ceiling == CEILING_NONE || options->buffers == BUFFERS_HH)
        return;
    if (!wants_staged(options) && on_all(bench, open_remote(bench))) {
        copier->way = COPY_PEER;
        return;
    }
    copier_close(bench);
    if (options->ceiling != CEILING_PEER && on_all(bench, open_host(bench)))
        copier->way = COPY_STAGED;
    else
        copier_close(bench);
    if (copier->way == COPY_NONE && options->ceiling != CEILING_AUTO && bench->ranks.rank == 0)
        ranks_die("--ceiling: this copy cannot be made here");
}

void copier_close(struct bench *bench)
{
    struct copier *copier = &bench->copier;

    if (copier->remote)
        bench->gpu.driver.cuIpcCloseMemHandle(gpu_address(copier->remote));
    for (int i = 0; i < 2; i++)
        if (copier->host[i])
            gpu_free_host(&bench->gpu, copier->host[i], copier->host_nbytes);
    memset(copier, 0, sizeof *copier);
}

static void check(const struct bench *bench, int status)
{
    struct gpubind_error err;

    if (gpu_check(&bench->gpu, status, "a bare copy failed", &err) < 0)
        ranks_die("%s", err.text);
}

static void synchronize(const struct bench *bench, int stream)
{
    check(bench, bench->gpu.driver.cuStreamSynchronize(bench->gpu.stream[stream]));
}

static void to_peer(const struct bench *bench, size_t offset, size_t nbytes)
{
    cuda_address to = gpu_address(bench->copier.remote + offset);

    check(bench, bench->gpu.driver.cuMemcpyDtoDAsync_v2(to, gpu_address(bench->out.at + offset),
                                                        nbytes, bench->gpu.stream[0]));
}

/* The slots of the host's side are fewer: they come round sooner. */
static unsigned char *host_place(const struct bench *bench, const struct task *task, int stream,
                                 size_t offset)
{
    size_t slots = bench->copier.host_nbytes / task->stride;

    return bench->copier.host[stream] + offset / task->stride % slots * task->stride;
}

static void to_host(const struct bench *bench, const struct task *task, size_t offset)
{
    void *to = host_place(bench, task, 0, offset);

    check(bench, bench->gpu.driver.cuMemcpyDtoHAsync_v2(to, gpu_address(bench->out.at + offset),
                                                        task->nbytes, bench->gpu.stream[0]));
}

static void from_host(const struct bench *bench, const struct task *task, size_t offset)
{
    const void *from = host_place(bench, task, 1, offset);

    check(bench, bench->gpu.driver.cuMemcpyHtoDAsync_v2(gpu_address(bench->in.at + offset), from,
                                                        task->nbytes, bench->gpu.stream[1]));
}

/* Between two GPUs each rank copies what it sends. */
static bool copy_to_peer(struct bench *bench, const struct task *task, int iteration)
{
    if (!bench->ranks.lower && task->measure != MEASURE_BIDIRECTIONAL)
        return false;
    for (int i = 0; i < task->window; i++)
        to_peer(bench, task_offset(task, iteration, i), task->nbytes);
    synchronize(bench, 0);
    return true;
}

/* Down on the rank that sends from a GPU, up on the one that receives into one. Of
 * two GPUs the first rank's stands for both: it is one link's bandwidth that limits,
 * and one way down and one up that a message takes. */
static bool copy_staged(struct bench *bench, const struct task *task, int iteration)
{
    bool both = is_two_way(task->measure);
    bool down = both || bench->ranks.lower, up = both || !bench->ranks.lower;
    bool latency = task->measure == MEASURE_LATENCY;

    if (!bench->has_gpu || (bench->options->buffers == BUFFERS_DD && !bench->ranks.lower &&
                            task->measure != MEASURE_BIDIRECTIONAL))
        return false;
    for (int i = 0; i < task->window && down; i++)
        to_host(bench, task, task_offset(task, iteration, i));
    if (latency)
        synchronize(bench, 0);
    for (int i = 0; i < task->window && up; i++)
        from_host(bench, task, task_offset(task, iteration, i));
    if (down && !latency)
        synchronize(bench, 0);
    if (up)
        synchronize(bench, 1);
    return true;
}

bool copy_once(struct bench *bench, const struct task *task, int iteration)
{
    if (bench->copier.way == COPY_PEER)
        return copy_to_peer(bench, task, iteration);
    return copy_staged(bench, task, iteration);
}
