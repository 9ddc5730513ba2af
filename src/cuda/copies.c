#include "cuda/copies.h"

#include <stdlib.h>

#include "cuda/copy_kernel.h"
#include "cuda/kernels.h"

/* Above this a copy engine moves a message as fast as a kernel would (two H200:
 * 16 x 1 MiB in a batch 300 GB/s, by a kernel 286; 64 x 64 KiB 95 and 195). */
#define KERNEL_MEAN (512u << 10)

static struct spare {
    struct spare *next;
    struct gpu *gpu;
    struct CUevent_st *event;
} *spares;
static unsigned blocks = 8;

void copies_set_blocks(int n)
{
    blocks = n < 0 ? 0 : (unsigned)n;
    kernels_allow(blocks > 0);
}

void copies_prepare(struct gpu *gpu)
{
    bool entered = gpu_enter(gpu);

    kernel_of(gpu, GPU_COPY_KERNEL);
    gpu_leave(entered);
}

static int launch(struct CUfunc_st *kernel, struct CUstream_st *stream,
                  const struct copy *copies, int n)
{
    struct copy_kernel_job job;
    unsigned pieces = 0, grid;
    void *parameters[] = {&job};

    for (int i = 0; i < n; i++) {
        job.to[i] = copies[i].to;
        job.from[i] = copies[i].from;
        job.nbytes[i] = copies[i].nbytes;
        job.pieces_before[i] = pieces;
        pieces += (unsigned)((copies[i].nbytes + COPY_KERNEL_PIECE - 1) / COPY_KERNEL_PIECE);
    }
    job.pieces_before[n] = pieces;
    job.n = (unsigned)n;
    grid = blocks < pieces ? blocks : pieces;
    return gpu_driver()->cuLaunchKernel(kernel, grid, 1, 1, COPY_KERNEL_THREADS, 1, 1, 0,
                                        stream, parameters, NULL);
}

static int batch(struct CUstream_st *stream, const struct copy *copies, int n)
{
    struct cuda_copy_attributes attributes = {.order = CUDA_COPY_IN_STREAM_ORDER};
    cuda_address to[COPIES_MOST], from[COPIES_MOST];
    size_t nbytes[COPIES_MOST], first = 0;

    for (int i = 0; i < n; i++) {
        to[i] = copies[i].to;
        from[i] = copies[i].from;
        nbytes[i] = copies[i].nbytes;
    }
    return gpu_driver()->cuMemcpyBatchAsync_v2(to, from, nbytes, (size_t)n, &attributes, &first,
                                               1, stream);
}

static int one_by_one(struct CUstream_st *stream, const struct copy *copies, int n)
{
    const struct cuda_driver *cuda = gpu_driver();
    int status = CUDA_OK;

    for (int i = 0; i < n && status == CUDA_OK; i++)
        status = copies[i].device
                     ? cuda->cuMemcpyDtoDAsync_v2(copies[i].to, copies[i].from, copies[i].nbytes,
                                                  stream)
                     : cuda->cuMemcpyAsync(copies[i].to, copies[i].from, copies[i].nbytes,
                                           stream);
    return status;
}

/* The context is current. */
static int start(struct gpu *gpu, struct CUstream_st *stream, const struct copy *copies, int n)
{
    struct CUfunc_st *kernel = NULL;
    size_t nbytes = 0;
    bool device = true;

    if (n < 2)
        return one_by_one(stream, copies, n);
    for (int i = 0; i < n; i++) {
        nbytes += copies[i].nbytes;
        device = device && copies[i].device;
    }
    if (device && nbytes / (size_t)n <= KERNEL_MEAN)
        kernel = kernel_of(gpu, GPU_COPY_KERNEL);
    if (kernel)
        return launch(kernel, stream, copies, n);
    if (device && gpu_driver()->cuMemcpyBatchAsync_v2)
        return batch(stream, copies, n);
    return one_by_one(stream, copies, n);
}

static int take_event(struct flight *flight)
{
    for (struct spare **link = &spares; *link; link = &(*link)->next)
        if ((*link)->gpu == flight->gpu) {
            struct spare *spare = *link;

            flight->event = spare->event;
            *link = spare->next;
            free(spare);
            return CUDA_OK;
        }
    return gpu_driver()->cuEventCreate(&flight->event, CUDA_EVENT_NO_TIMING);
}

static void give_event(const struct flight *flight)
{
    struct spare *spare = malloc(sizeof *spare);

    if (!spare) {
        gpu_driver()->cuEventDestroy_v2(flight->event);
        return;
    }
    *spare = (struct spare){spares, flight->gpu, flight->event};
    spares = spare;
}

int copies_start(struct gpu *gpu, enum gpu_stream stream, const struct copy *copies, int n,
                 struct flight *flight, struct gpubind_error *err)
{
    bool entered = gpu_enter(gpu);
    int status;

    flight->gpu = gpu;
    status = take_event(flight);
    if (status == CUDA_OK) {
        status = start(gpu, gpu->streams[stream], copies, n);
        if (status == CUDA_OK)
            status = gpu_driver()->cuEventRecord(flight->event, gpu->streams[stream]);
        if (status != CUDA_OK)
            give_event(flight);
    }
    gpu_leave(entered);
    if (status == CUDA_OK)
        return 0;
    flight->gpu = NULL;
    return gpu_error(status, "a copy cannot be started", err);
}

int flight_landed(struct flight *flight, struct gpubind_error *err)
{
    bool entered = gpu_enter(flight->gpu);
    int status = gpu_driver()->cuEventQuery(flight->event);

    if (status != CUDA_NOT_READY)
        give_event(flight);
    gpu_leave(entered);
    if (status == CUDA_NOT_READY)
        return 0;
    flight->gpu = NULL;
    return status == CUDA_OK ? 1 : gpu_error(status, "a copy failed", err);
}

int copies_queue(struct gpu *gpu, enum gpu_stream stream, const struct copy *copies, int n,
                 struct gpubind_error *err)
{
    bool entered = gpu_enter(gpu);
    int status = start(gpu, gpu->streams[stream], copies, n);

    gpu_leave(entered);
    return status == CUDA_OK ? 0 : gpu_error(status, "a copy cannot be started", err);
}

int copies_wait(struct gpu *gpu, enum gpu_stream stream, struct gpubind_error *err)
{
    bool entered = gpu_enter(gpu);
    int status = gpu_driver()->cuStreamSynchronize(gpu->streams[stream]);

    gpu_leave(entered);
    return status == CUDA_OK ? 0 : gpu_error(status, "a copy failed", err);
}

int copy_now(struct gpu *gpu, enum gpu_stream stream, const struct copy *copy,
             struct gpubind_error *err)
{
    bool entered = gpu_enter(gpu);
    int status = one_by_one(gpu->streams[stream], copy, 1);

    if (status == CUDA_OK)
        status = gpu_driver()->cuStreamSynchronize(gpu->streams[stream]);
    gpu_leave(entered);
    return status == CUDA_OK ? 0 : gpu_error(status, "a copy failed", err);
}

void copies_stop(void)
{
    struct spare *spare;

    while ((spare = spares)) {
        if (!gpu_is_dead(spare->gpu)) {
            bool entered = gpu_enter(spare->gpu);

            gpu_driver()->cuEventDestroy_v2(spare->event);
            gpu_leave(entered);
        }
        spares = spare->next;
        free(spare);
    }
}
