#include "gpu/copy/strided_copy.h"

#include "gpu/copy/copy_agent.h"
#include "gpu/copy/strided_copy_engine.h"
#include "gpu/copy/strided_launch.h"
#include "gpu/core/kernels.h"

static bool agent_can(const struct gpu *gpu, gpu_stream stream)
{
    for (int i = 0; i < GPU_STREAMS; i++)
        if (gpu->streams[i] == stream)
            return agent_serves(gpu, (enum gpu_own_stream)i);
    return false;
}

int layout_copy_shapes(struct gpu *gpu, gpu_stream stream, const struct shape *to,
                       const struct shape *from, uint64_t nbytes)
{
    const bool agent = agent_can(gpu, stream);
    gpu_function kernel = NULL;
    int status;

    if (nbytes == 0)
        return GPU_OK;
    if (agent && kernel_can_copy(to, from, nbytes)) {
        struct layout_kernel_job job;

        layout_job(&job, to, from, nbytes);
        agent_post(gpu, AGENT_LAYOUT, &job, sizeof job);
        return GPU_OK;
    }
    if (!shape_copy_is_quick(to, from, nbytes) && kernel_can_copy(to, from, nbytes))
        kernel = kernel_of(gpu, GPU_LAYOUT_KERNEL);
    if (agent && agent_drain(gpu, NULL) < 0)
        return GPU_INVALID_VALUE;
    status = kernel ? layout_launch(kernel, stream, to, from, nbytes)
                    : shape_copy(stream, to, from, nbytes);
    /* What comes after it may be a command, which is in no stream. */
    return agent && status == GPU_OK ? gpu_driver()->cuStreamSynchronize(stream) : status;
}

int layout_copy(struct gpu *gpu, gpu_stream stream, const struct layout *to,
                const struct layout *from, uint64_t nbytes, struct gpubind_error *err)
{
    struct shape there, here;
    bool entered;
    int status;

    if (!shape_of(to, nbytes, &there) || !shape_of(from, nbytes, &here))
        return error_set(err, "a layout has less than %llu bytes", (unsigned long long)nbytes);
    entered = gpu_enter(gpu);
    status = layout_copy_shapes(gpu, stream, &there, &here, nbytes);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "a copy cannot be queued", err);
}
