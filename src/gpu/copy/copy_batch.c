#include "gpu/copy/copy_batch.h"

#include <string.h>

#include "gpu/copy/copy_agent.h"
#include "gpu/copy/copy_kernel.h"
#include "gpu/core/events.h"
#include "gpu/core/kernels.h"

/* Above this a copy engine moves a message as fast as a kernel would (two H200:
 * 16 x 1 MiB in a batch 300 GB/s, by a kernel 286; 64 x 64 KiB 95 and 195). */
#define KERNEL_MEAN (512u << 10)

#define WIDEST 4 /* times as many blocks, for 3 MiB and more */

static unsigned blocks = 8;

void copies_set_blocks(int n)
{
    blocks = n < 0 ? 0 : (unsigned)n;
    if (blocks > 0)
        agent_set_blocks(blocks);
    kernels_allow(blocks > 0);
}

static void fill_job(struct copy_kernel_job *job, const struct copy *copies, int n)
{
    unsigned chunks = 0;

    for (int i = 0; i < n; i++) {
        job->to[i] = copies[i].to;
        job->from[i] = copies[i].from;
        job->nbytes[i] = copies[i].nbytes;
        job->chunks_before[i] = chunks;
        chunks += (unsigned)((copies[i].nbytes + COPY_KERNEL_CHUNK - 1) / COPY_KERNEL_CHUNK);
    }
    job->chunks_before[n] = chunks;
    job->n = (unsigned)n;
}

/* A block has 64 KiB under way at a time: more of them shorten what takes many rounds. */
static unsigned blocks_for(unsigned chunks)
{
    const unsigned mebibytes = chunks / ((1u << 20) / COPY_KERNEL_CHUNK);
    const unsigned most = blocks * (mebibytes < WIDEST ? 1 + mebibytes : WIDEST);

    return most < chunks ? most : chunks;
}

static int launch(gpu_function kernel, gpu_stream stream, const struct copy *copies, int n)
{
    struct copy_kernel_job job;
    unsigned grid;
    void *parameters[] = {&job};

    fill_job(&job, copies, n);
    grid = blocks_for(job.chunks_before[n]);
    return gpu_driver()->cuLaunchKernel(kernel, grid, 1, 1, COPY_KERNEL_THREADS, 1, 1, 0, stream,
                                        parameters, NULL);
}

static int batch(gpu_stream stream, const struct copy *copies, int n)
{
    struct cuda_copy_attributes attributes = {.order = CUDA_COPY_IN_STREAM_ORDER};
    gpu_address to[COPIES_MOST], from[COPIES_MOST];
    size_t nbytes[COPIES_MOST], first = 0;

    for (int i = 0; i < n; i++) {
        to[i] = copies[i].to;
        from[i] = copies[i].from;
        nbytes[i] = copies[i].nbytes;
    }
    return gpu_driver()->cuMemcpyBatchAsync_v2(to, from, nbytes, (size_t)n, &attributes, &first, 1,
                                               stream);
}

static int copy_one(gpu_stream stream, const struct copy *copy)
{
    const struct cuda_driver *cuda = gpu_driver();

    switch (copy->ends) {
    case COPY_IN_GPU:
        return cuda->cuMemcpyDtoDAsync_v2(copy->to, copy->from, copy->nbytes, stream);
    case COPY_TO_HOST:
        return cuda->cuMemcpyDtoHAsync_v2((void *)(uintptr_t)copy->to, copy->from, copy->nbytes,
                                          stream);
    case COPY_FROM_HOST:
        return cuda->cuMemcpyHtoDAsync_v2(copy->to, (void *)(uintptr_t)copy->from, copy->nbytes,
                                          stream);
    default:
        return cuda->cuMemcpyAsync(copy->to, copy->from, copy->nbytes, stream);
    }
}

static int copy_each(gpu_stream stream, const struct copy *copies, int n)
{
    int status = GPU_OK;

    for (int i = 0; i < n && status == GPU_OK; i++)
        status = copy_one(stream, &copies[i]);
    return status;
}

int copies_put(struct gpu *gpu, gpu_stream stream, const struct copy *copies, int n)
{
    gpu_function kernel = NULL;
    size_t nbytes = 0;
    bool device = true;

    if (n < 2)
        return copy_each(stream, copies, n);
    for (int i = 0; i < n; i++) {
        nbytes += copies[i].nbytes;
        device = device && copies[i].ends == COPY_IN_GPU;
    }
    if (device && nbytes / (size_t)n <= KERNEL_MEAN)
        kernel = kernel_of(gpu, GPU_COPY_KERNEL);
    if (kernel)
        return launch(kernel, stream, copies, n);
    if (device && gpu_driver()->cuMemcpyBatchAsync_v2)
        return batch(stream, copies, n);
    return copy_each(stream, copies, n);
}

/* The ticket; 0: there is nothing to wait for. */
static uint32_t post(struct gpu *gpu, const struct copy *copies, int n)
{
    struct copy_kernel_job job;
    const struct agent_copy one = n == 1 ? (struct agent_copy){copies->to, copies->from,
                                                               copies->nbytes}
                                         : (struct agent_copy){0, 0, 0};

    if (n == 0)
        return agent_latest(gpu);
    if (n == 1)
        return agent_post(gpu, AGENT_ONE, &one, sizeof one);
    fill_job(&job, copies, n);
    return agent_post(gpu, AGENT_COPY, &job, sizeof job);
}

static bool agent_can(const struct copy *copy)
{
    return copy->ends == COPY_IN_GPU ||
           (copy->ends == COPY_TO_HOST && agent_can_access(copy->to)) ||
           (copy->ends == COPY_FROM_HOST && agent_can_access(copy->from));
}

/* What no kernel can do: in no stream that would order it with the agent's commands. */
static int copy_by_driver(struct gpu *gpu, const struct copy *copy, struct gpubind_error *err)
{
    bool entered;
    int status;

    if (agent_drain(gpu, err) < 0)
        return -1;
    entered = gpu_enter(gpu);
    status = copy_one(gpu->streams[GPU_OUT], copy);
    if (status == GPU_OK)
        status = gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_OUT]);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "a copy failed", err);
}

/* From or to memory that is not page-locked: through memory that is. Returns when it is done. */
static int copy_through_bounce(struct gpu *gpu, const struct copy *copy, struct gpubind_error *err)
{
    char *bounce = agent_bounce(gpu);
    const bool to_host = copy->ends == COPY_TO_HOST;
    char *host = (char *)(uintptr_t)(to_host ? copy->to : copy->from);
    struct copy piece = {.to = copy->to, .from = copy->from};

    for (uint64_t done = 0; done < copy->nbytes; done += piece.nbytes) {
        if (!agent_serves(gpu, GPU_OUT)) { /* the last stream that waited goes on */
            piece = (struct copy){copy->to + done, copy->from + done, copy->nbytes - done,
                                  copy->ends};
            return copy_by_driver(gpu, &piece, err);
        }
        piece.nbytes = copy->nbytes - done < AGENT_BOUNCE_BYTES ? copy->nbytes - done
                                                                : AGENT_BOUNCE_BYTES;
        piece.to = to_host ? (gpu_address)(uintptr_t)bounce : copy->to + done;
        piece.from = to_host ? copy->from + done : (gpu_address)(uintptr_t)bounce;
        if (!to_host)
            memcpy(bounce, host + done, piece.nbytes);
        post(gpu, &piece, 1);
        if (agent_drain(gpu, err) < 0)
            return -1;
        if (to_host)
            memcpy(host + done, bounce, piece.nbytes);
    }
    return 0;
}

/* While streams wait: without a call of the driver. *ticket: as post returns it. */
static int agent_copies(struct gpu *gpu, const struct copy *copies, int n, uint32_t *ticket,
                        struct gpubind_error *err)
{
    int can = 0;

    while (can < n && agent_can(&copies[can]))
        can++;
    *ticket = post(gpu, copies, can);
    for (int i = can; i < n; i++) {
        int status = 0;

        if (copies[i].ends == COPY_BY_DRIVER || !agent_serves(gpu, GPU_OUT))
            status = copy_by_driver(gpu, &copies[i], err);
        else if (agent_can(&copies[i]))
            *ticket = post(gpu, &copies[i], 1);
        else
            status = copy_through_bounce(gpu, &copies[i], err);
        if (status < 0)
            return -1;
    }
    return 0;
}

static void give_event(const struct gpu_completion *completion)
{
    if (completion->event) /* else it is a command of the copy agent */
        event_give(completion->gpu, completion->event);
}

int copies_start(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copies, int n,
                 struct gpu_completion *completion, struct gpubind_error *err)
{
    bool entered;
    int status;

    completion->gpu = gpu;
    if (agent_serves(gpu, stream)) {
        completion->event = NULL;
        status = agent_copies(gpu, copies, n, &completion->ticket, err);
        if (status < 0)
            completion->gpu = NULL;
        return status;
    }
    entered = gpu_enter(gpu);
    status = event_take(gpu, &completion->event);
    if (status == GPU_OK) {
        status = copies_put(gpu, gpu->streams[stream], copies, n);
        if (status == GPU_OK)
            status = gpu_driver()->cuEventRecord(completion->event, gpu->streams[stream]);
        if (status != GPU_OK)
            give_event(completion);
    }
    gpu_leave(entered);
    if (status == GPU_OK)
        return 0;
    completion->gpu = NULL;
    return gpu_error(status, "a copy cannot be started", err);
}

static int command_test(struct gpu_completion *completion, struct gpubind_error *err)
{
    int done = completion->ticket ? agent_done(completion->gpu, completion->ticket, err) : 1;

    if (done != 0)
        completion->gpu = NULL;
    return done;
}

int gpu_completion_test(struct gpu_completion *completion, struct gpubind_error *err)
{
    bool entered;
    int status;

    if (!completion->event)
        return command_test(completion, err);
    entered = gpu_enter(completion->gpu);
    status = gpu_driver()->cuEventQuery(completion->event);
    if (status != GPU_NOT_READY)
        give_event(completion);
    gpu_leave(entered);
    if (status == GPU_NOT_READY)
        return 0;
    completion->gpu = NULL;
    return status == GPU_OK ? 1 : gpu_error(status, "a copy failed", err);
}

int gpu_completion_of_earlier(struct gpu *gpu, struct gpu_completion *completion,
                              struct gpubind_error *err)
{
    bool entered = gpu_enter(gpu);
    int status = event_of_legacy(gpu, &completion->event);

    gpu_leave(entered);
    completion->gpu = status == GPU_OK && completion->event ? gpu : NULL;
    return status == GPU_OK ? !completion->gpu : gpu_error(status, "earlier GPU work", err);
}

void gpu_completion_drop(struct gpu_completion *completion)
{
    bool entered;

    if (!completion->gpu)
        return;
    entered = gpu_enter(completion->gpu);
    give_event(completion);
    gpu_leave(entered);
    completion->gpu = NULL;
}

int gpu_completion_precede(struct gpu_completion *completion, enum gpu_own_stream stream,
                           struct gpubind_error *err)
{
    bool entered;
    int status;

    if (!completion->gpu)
        return -1;
    entered = gpu_enter(completion->gpu);
    status = gpu_driver()->cuStreamWaitEvent(completion->gpu->streams[stream], completion->event,
                                             0);

    gpu_leave(entered);
    gpu_completion_drop(completion);
    return status == GPU_OK ? 0 : gpu_error(status, "earlier GPU work", err);
}

int copies_queue(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copies, int n,
                 struct gpubind_error *err)
{
    uint32_t ticket;
    bool entered;
    int status;

    if (agent_serves(gpu, stream))
        return agent_copies(gpu, copies, n, &ticket, err);
    entered = gpu_enter(gpu);
    status = copies_put(gpu, gpu->streams[stream], copies, n);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "a copy cannot be started", err);
}

int copies_wait(struct gpu *gpu, enum gpu_own_stream stream, struct gpubind_error *err)
{
    bool entered;
    int status;

    if (agent_drain(gpu, err) < 0)
        return -1;
    entered = gpu_enter(gpu);
    status = gpu_driver()->cuStreamSynchronize(gpu->streams[stream]);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "a copy failed", err);
}

int copy_now(struct gpu *gpu, enum gpu_own_stream stream, const struct copy *copy,
             struct gpubind_error *err)
{
    uint32_t ticket;
    bool entered;
    int status;

    if (agent_serves(gpu, stream)) {
        status = agent_copies(gpu, copy, 1, &ticket, err);
        return status < 0 ? -1 : agent_drain(gpu, err);
    }
    entered = gpu_enter(gpu);
    status = copy_each(gpu->streams[stream], copy, 1);
    if (status == GPU_OK)
        status = gpu_driver()->cuStreamSynchronize(gpu->streams[stream]);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "a copy failed", err);
}
