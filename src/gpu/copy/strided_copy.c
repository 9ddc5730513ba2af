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

int strided_copy_normal(struct gpu *gpu, gpu_stream stream, const struct strided *to,
                        const struct strided *from, uint64_t nbytes)
{
    const bool agent = agent_can(gpu, stream);
    gpu_function kernel = NULL;
    int status;

    if (nbytes == 0)
        return GPU_OK;
    if (agent && kernel_can_copy(to, from, nbytes)) {
        struct strided_kernel_job job;

        strided_job(&job, to, from, nbytes);
        agent_post(gpu, AGENT_STRIDED, &job, sizeof job);
        return GPU_OK;
    }
    if (!copy_engine_strided_is_quick(to, from, nbytes) && kernel_can_copy(to, from, nbytes))
        kernel = kernel_of(gpu, GPU_STRIDED_KERNEL);
    if (agent && agent_drain(gpu, NULL) < 0)
        return GPU_INVALID_VALUE;
    status = kernel ? strided_launch(kernel, stream, to, from, nbytes)
                    : copy_engine_strided(stream, to, from, nbytes);
    /* What comes after it may be a command, which is in no stream. */
    return agent && status == GPU_OK ? gpu_driver()->cuStreamSynchronize(stream) : status;
}

int strided_copy(struct gpu *gpu, gpu_stream stream, const struct strided_buffer *to,
                 const struct strided_buffer *from, uint64_t nbytes, struct gpubind_error *err)
{
    struct strided there, here;
    bool entered;
    int status;

    if (!strided_of(to, nbytes, &there) || !strided_of(from, nbytes, &here))
        return error_set(err, "a strided buffer has fewer than %llu bytes",
                         (unsigned long long)nbytes);
    entered = gpu_enter(gpu);
    status = strided_copy_normal(gpu, stream, &there, &here, nbytes);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "a copy cannot be queued", err);
}
