/* The bare copies that messages are compared with. */
#include <stdio.h>
#include <string.h>

#include "bench/lib/peer_memory.h"
#include "bench/pt2pt/task.h"

/* The largest message, and windows of smaller ones: copies wrap around. */
#define HOST_NBYTES ((size_t)64 << 20)

static bool open_remote(struct pt2pt *pt2pt)
{
    const bool shown = pt2pt->has_gpu && pt2pt->ranks.one_node;

    pt2pt->copier.remote = peer_memory_open(MPI_COMM_WORLD, pt2pt->ranks.peer,
                                            shown ? pt2pt->in.at : NULL);
    return pt2pt->copier.remote;
}

static bool open_host(struct pt2pt *pt2pt)
{
    struct gpubind_error err;
    struct copier *copier = &pt2pt->copier;

    if (!pt2pt->has_gpu)
        return true;
    copier->host_nbytes = pt2pt->in.nbytes < HOST_NBYTES ? pt2pt->in.nbytes : HOST_NBYTES;
    for (int i = 0; i < pt2pt->options->nsizes; i++)
        if (pt2pt->options->sizes[i] > copier->host_nbytes)
            copier->host_nbytes = pt2pt->options->sizes[i];
    /* Rounded up to whole slots. */
    copier->host_nbytes = (copier->host_nbytes + 4095) / 4096 * 4096;
    for (int i = 0; i < 2; i++) {
        void *at;

        if (gpu_alloc_host(copier->host_nbytes, &at, &err) < 0)
            return false;
        copier->host[i] = at;
    }
    return true;
}

static bool on_all(const struct pt2pt *pt2pt, bool good)
{
    int all = good;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, pt2pt->ranks.working);
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

void copier_open(struct pt2pt *pt2pt)
{
    const struct bench_options *options = pt2pt->options;
    struct copier *copier = &pt2pt->copier;

    if (options->ceiling == CEILING_NONE || options->buffers == BUFFERS_HH)
        return;
    if (!wants_staged(options) && on_all(pt2pt, open_remote(pt2pt))) {
        copier->kind = COPY_PEER;
        return;
    }
    copier_close(pt2pt);
    if (options->ceiling != CEILING_PEER && on_all(pt2pt, open_host(pt2pt)))
        copier->kind = COPY_STAGED;
    else
        copier_close(pt2pt);
    if (copier->kind == COPY_NONE && options->ceiling != CEILING_AUTO && pt2pt->ranks.rank == 0)
        ranks_die("--ceiling: this copy cannot be made here");
}

void copier_close(struct pt2pt *pt2pt)
{
    struct copier *copier = &pt2pt->copier;

    peer_memory_close(copier->remote);
    for (int i = 0; i < 2; i++)
        if (copier->host[i])
            gpu_free_host(copier->host[i], copier->host_nbytes);
    memset(copier, 0, sizeof *copier);
}

static void check(int status)
{
    struct gpubind_error err;

    if (gpu_check(status, "a bare copy failed", &err) < 0)
        ranks_die("%s", err.text);
}

static void synchronize(const struct pt2pt *pt2pt, int stream)
{
    check(gpu_stream_synchronize(pt2pt->gpu.stream[stream]));
}

static void to_peer(const struct pt2pt *pt2pt, size_t offset, size_t nbytes)
{
    gpu_address to = address_of(pt2pt->copier.remote + offset);

    check(gpu_copy_device_async(to, address_of(pt2pt->out.at + offset), nbytes,
                                pt2pt->gpu.stream[0]));
}

/* The host buffer has fewer slots, which are reused sooner. */
static unsigned char *host_place(const struct pt2pt *pt2pt, const struct task *task, int stream,
                                 size_t offset)
{
    size_t slots = pt2pt->copier.host_nbytes / task->stride;

    return pt2pt->copier.host[stream] + offset / task->stride % slots * task->stride;
}

static void to_host(const struct pt2pt *pt2pt, const struct task *task, size_t offset)
{
    void *to = host_place(pt2pt, task, 0, offset);

    check(gpu_download_async(to, address_of(pt2pt->out.at + offset), task->nbytes,
                             pt2pt->gpu.stream[0]));
}

static void from_host(const struct pt2pt *pt2pt, const struct task *task, size_t offset)
{
    const void *from = host_place(pt2pt, task, 1, offset);

    check(gpu_upload_async(address_of(pt2pt->in.at + offset), from, task->nbytes,
                           pt2pt->gpu.stream[1]));
}

/* Between two GPUs each rank copies what it sends. */
static bool copy_to_peer(struct pt2pt *pt2pt, const struct task *task, int iteration)
{
    if (!pt2pt->ranks.lower && task->measure != MEASURE_BIDIRECTIONAL)
        return false;
    for (int i = 0; i < task->window; i++)
        to_peer(pt2pt, task_offset(task, iteration, i), task->nbytes);
    synchronize(pt2pt, 0);
    return true;
}

/* The rank that sends from a GPU copies down, the rank that receives into a GPU copies up. Of two
 * GPUs that of the first rank does both: the bandwidth of one link is the limit, and a message goes
 * down once and up once. */
static bool copy_staged(struct pt2pt *pt2pt, const struct task *task, int iteration)
{
    bool both = is_two_way(task->measure);
    bool down = both || pt2pt->ranks.lower, up = both || !pt2pt->ranks.lower;
    bool latency = task->measure == MEASURE_LATENCY;

    if (!pt2pt->has_gpu || (pt2pt->options->buffers == BUFFERS_DD && !pt2pt->ranks.lower &&
                            task->measure != MEASURE_BIDIRECTIONAL))
        return false;
    for (int i = 0; i < task->window && down; i++)
        to_host(pt2pt, task, task_offset(task, iteration, i));
    if (latency)
        synchronize(pt2pt, 0);
    for (int i = 0; i < task->window && up; i++)
        from_host(pt2pt, task, task_offset(task, iteration, i));
    if (down && !latency)
        synchronize(pt2pt, 0);
    if (up)
        synchronize(pt2pt, 1);
    return true;
}

bool copy_once(struct pt2pt *pt2pt, const struct task *task, int iteration)
{
    if (pt2pt->copier.kind == COPY_PEER)
        return copy_to_peer(pt2pt, task, iteration);
    return copy_staged(pt2pt, task, iteration);
}
