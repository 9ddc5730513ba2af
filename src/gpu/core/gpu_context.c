#include "gpu/core/gpu_context.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/core/events.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/kernels.h"

static struct gpu *gpus, *dead;
static void (*context_destroyed)(const struct gpu *);

/* Drivers before CUDA 12 give contexts no numbers. */
static bool is_same(const struct gpu *gpu)
{
    unsigned long long id = 0;

    return gpu->id == 0 || (gpu_driver()->cuCtxGetId(gpu->context, &id) == GPU_OK && id == gpu->id);
}

bool gpu_is_dead(const struct gpu *gpu)
{
    return gpu->dead || !is_same(gpu);
}

void gpu_on_context_destroyed(void (*hook)(const struct gpu *gpu))
{
    context_destroyed = hook;
}

void gpus_find_dead(void)
{
    for (struct gpu **link = &gpus; *link;) {
        struct gpu *gpu = *link;

        if (is_same(gpu)) {
            link = &gpu->next;
            continue;
        }
        *link = gpu->next;
        gpu->dead = true;
        gpu->next = dead;
        dead = gpu;
        if (context_destroyed)
            context_destroyed(gpu);
    }
}

struct gpu *gpu_first(void)
{
    gpus_find_dead();
    return gpus;
}

bool gpu_is_capturing(const struct gpu *gpu)
{
    bool entered = gpu_enter(gpu);
    int capturing = 0, status = gpu_driver()->cuStreamIsCapturing(GPU_LEGACY_STREAM, &capturing);

    gpu_leave(entered);
    return status == GPU_CAPTURE_IMPLICIT || capturing;
}

enum gpu_work gpu_legacy_work(void)
{
    int capturing = 0;
    const int status = gpu_driver()->cuStreamIsCapturing(GPU_LEGACY_STREAM, &capturing);

    if (status == GPU_CAPTURE_IMPLICIT || capturing)
        return GPU_CAPTURED;
    return gpu_driver()->cuStreamQuery(GPU_LEGACY_STREAM) == GPU_NOT_READY ? GPU_WORK : GPU_NO_WORK;
}

bool gpu_is_idle(const struct gpu *gpu)
{
    const bool entered = gpu_enter(gpu);
    const enum gpu_work work = gpu_legacy_work();

    gpu_leave(entered);
    return work == GPU_NO_WORK;
}

bool gpu_copies_are_idle(const struct gpu *gpu)
{
    const bool entered = gpu_enter(gpu);
    bool idle = true;

    for (int i = 0; i < GPU_STREAMS && idle; i++)
        idle = i == GPU_AGENT || gpu_driver()->cuStreamQuery(gpu->streams[i]) != GPU_NOT_READY;
    gpu_leave(entered);
    return idle;
}

bool gpu_is_lost(const struct gpu *gpu)
{
    const bool entered = gpu_enter(gpu);
    const int status = gpu_driver()->cuStreamQuery(gpu->streams[GPU_IN]);

    gpu_leave(entered);
    return status != GPU_OK && status != GPU_NOT_READY;
}

bool gpus_are_idle(void)
{
    for (const struct gpu *gpu = gpus; gpu; gpu = gpu->next)
        if (!gpu_is_idle(gpu))
            return false;
    return true;
}

bool gpu_agents_quiesce(bool wait)
{
    for (struct gpu *gpu = gpus; gpu; gpu = gpu->next)
        if (gpu->agent_ops && !gpu->agent_ops->quiesce(gpu, wait))
            return false;
    return true;
}

void gpu_agents_leave(void)
{
    gpu_agents_quiesce(false);
}

int gpu_suspend_capture(void)
{
    int mode = GPU_CAPTURE_RELAXED;

    if (!gpu_driver_is_known() || gpu_driver()->cuThreadExchangeStreamCaptureMode(&mode) != GPU_OK)
        return -1;
    return mode;
}

void gpu_resume_capture(int mode)
{
    if (mode >= 0)
        gpu_driver()->cuThreadExchangeStreamCaptureMode(&mode);
}

bool gpu_enter(const struct gpu *gpu)
{
    gpu_context current = NULL;

    gpu_driver()->cuCtxGetCurrent(&current);
    return current != gpu->context && gpu_driver()->cuCtxPushCurrent_v2(gpu->context) == GPU_OK;
}

void gpu_leave(bool entered)
{
    gpu_context ours;

    if (entered)
        gpu_driver()->cuCtxPopCurrent_v2(&ours);
}

/* Creates what the driver cannot create while a thread of the application waits in it. */
static int prepare(struct gpu *gpu, struct gpubind_error *err)
{
    bool entered = gpu_enter(gpu);
    int status = GPU_OK;

    for (int i = 0; i < GPU_STREAMS && status == GPU_OK; i++)
        status = gpu_stream_make(false, &gpu->streams[i]);
    if (status == GPU_OK)
        events_prepare(gpu);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "a CUDA stream cannot be made", err);
}

static int attribute_of(int ordinal, int attribute)
{
    int value = 0;

    return gpu_driver()->cuDeviceGetAttribute(&value, attribute, ordinal) == GPU_OK ? value : 0;
}

/* NVIDIA, CUDA Programming Guide, CUDA_DEVICE_MAX_CONNECTIONS; with MPS, whose clients share them, an H200 with driver
 * 580 has 2 for each. */
static int channels_of(const struct gpu *gpu)
{
    const char *set = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const int n = set ? atoi(set) : 0;

    if (n >= 1 && n <= 32)
        return n;
    return gpu->mps ? 2 : 8;
}

/* Made of its UUID, which other processes see, too. */
static uint64_t device_of(int ordinal)
{
    struct cuda_uuid uuid;
    uint64_t halves[2];

    if (gpu_driver()->cuDeviceGetUuid_v2(&uuid, ordinal) != GPU_OK)
        return (uint64_t)ordinal + 1;
    memcpy(halves, uuid.bytes, sizeof halves);
    return (halves[0] * 31 + halves[1]) | 1;
}

static struct gpu *gpu_make(gpu_context context, int ordinal, bool retained,
                            struct gpubind_error *err)
{
    struct gpu *gpu = calloc(1, sizeof *gpu);

    if (!gpu) {
        error_set(err, "out of memory");
        return NULL;
    }
    gpu->context = context;
    gpu->ordinal = ordinal;
    gpu->retained = retained;
    if (gpu_driver()->cuCtxGetId && gpu_driver()->cuCtxGetId(context, &gpu->id) != GPU_OK)
        gpu->id = 0;
    gpu->multiprocessors = attribute_of(ordinal, GPU_ATTRIBUTE_MULTIPROCESSORS);
    gpu->mps = attribute_of(ordinal, CUDA_ATTRIBUTE_MPS);
    gpu->channels = channels_of(gpu);
    gpu->flushes = attribute_of(ordinal, CUDA_ATTRIBUTE_FLUSH_REMOTE_WRITES);
    gpu->device = device_of(ordinal);
    gpu->has_wait64 = attribute_of(ordinal, CUDA_ATTRIBUTE_WORDS_OF_64);
    if (prepare(gpu, err) < 0) {
        free(gpu);
        return NULL;
    }
    gpu->next = gpus;
    gpus = gpu;
    if (!gpu_is_guarded())
        kernels_load(gpu);
    return gpu;
}

void gpus_load_kernels(void)
{
    for (struct gpu *gpu = gpus; gpu; gpu = gpu->next)
        if (!gpu->kernels_tried && gpu_may_wait())
            kernels_load(gpu);
}

static struct gpu *primary_gpu(int ordinal, struct gpubind_error *err)
{
    gpu_context context;
    struct gpu *gpu;
    int status;

    gpus_find_dead();
    for (gpu = gpus; gpu; gpu = gpu->next)
        if (gpu->ordinal == ordinal && gpu->retained)
            return gpu;
    status = gpu_driver()->cuDevicePrimaryCtxRetain(&context, ordinal);
    if (status != GPU_OK) {
        gpu_error(status, "the context of a GPU cannot be had", err);
        return NULL;
    }
    for (gpu = gpus; gpu; gpu = gpu->next)
        if (gpu->context == context) {
            gpu->retained = true;
            return gpu;
        }
    return gpu_make(context, ordinal, true, err);
}

/* The current context when it is of that device (any: -1). */
static gpu_context current_context(int ordinal, int *device)
{
    const gpu_context context = current_home();

    if (!context || gpu_driver()->cuCtxGetDevice(device) != GPU_OK)
        return NULL;
    return ordinal < 0 || ordinal == *device ? context : NULL;
}

struct gpu *gpu_of(gpu_context context, int ordinal, struct gpubind_error *err)
{
    int device = ordinal;

    if (!context)
        context = current_context(ordinal, &device);
    if (!context)
        return primary_gpu(ordinal, err);
    gpus_find_dead();
    for (struct gpu *gpu = gpus; gpu; gpu = gpu->next)
        if (gpu->context == context)
            return gpu;
    return gpu_make(context, ordinal, false, err);
}

struct gpu *gpu_of_memory(gpu_context context, int ordinal, uint64_t id, struct gpubind_error *err)
{
    struct gpu *gpu;

    for (gpu = gpus; gpu; gpu = gpu->next)
        if (context && gpu->context == context && id <= gpu->newest)
            return gpu;
    gpu = gpu_of(context, ordinal, err);
    if (gpu && id > gpu->newest)
        gpu->newest = id;
    return gpu;
}

struct gpu *gpu_current(struct gpubind_error *err)
{
    gpu_context context;
    int device = 0, count = 0;

    if (gpu_start(err) < 0)
        return NULL;
    context = current_context(-1, &device);
    if (context)
        return gpu_of(context, device, err);
    if (gpu_driver()->cuDeviceGetCount(&count) != GPU_OK || count < 1) {
        error_set(err, "this rank sees no GPU");
        return NULL;
    }
    return primary_gpu(0, err);
}

void gpu_stop(void)
{
    struct gpu *gpu;

    gpus_find_dead();
    while ((gpu = dead)) {
        if (gpu->retained)
            gpu_driver()->cuDevicePrimaryCtxRelease_v2(gpu->ordinal);
        dead = gpu->next;
        free(gpu);
    }
    while ((gpu = gpus)) {
        bool entered = gpu_enter(gpu);

        if (gpu->agent_ops)
            gpu->agent_ops->stop(gpu);
        for (int i = 0; i < GPU_STREAMS; i++) {
            gpu_driver()->cuStreamSynchronize(gpu->streams[i]);
            gpu_driver()->cuStreamDestroy_v2(gpu->streams[i]);
        }
        kernels_unload(gpu);
        gpu_leave(entered);
        if (gpu->retained)
            gpu_driver()->cuDevicePrimaryCtxRelease_v2(gpu->ordinal);
        gpus = gpu->next;
        free(gpu);
    }
}
