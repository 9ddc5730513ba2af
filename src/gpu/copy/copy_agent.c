/* Commands for the copy agent, and their completion. */
#include <string.h>

#include "gpu/copy/copy_agent_internal.h"

#define POLLS_PER_QUERY \
    4096 /* without progress, until the driver is asked whether the context works */

uint32_t agent_latest(const struct gpu *gpu)
{
    const struct agent *agent = gpu->agent;

    return agent && agent->ring && !agent_is_idle(agent) ? agent->posted : 0;
}

/* After an error of the context no command completes any more. */
static bool is_lost(struct gpu *gpu, struct gpubind_error *err)
{
    bool entered;
    int status;

    if (++gpu->agent->polls % POLLS_PER_QUERY)
        return false;
    entered = gpu_enter(gpu);
    status = gpu_driver()->cuStreamQuery(gpu->streams[GPU_AGENT]);
    gpu_leave(entered);
    if (status == GPU_OK || status == GPU_NOT_READY)
        return false;
    gpu->agent->broken = true;
    gpu_error(status, "a copy failed", err);
    return true;
}

int agent_done(struct gpu *gpu, uint32_t ticket, struct gpubind_error *err)
{
    struct agent *agent = gpu->agent;

    if ((int32_t)(agent_load(&agent->ring->done) - ticket) >= 0)
        return 1;
    return is_lost(gpu, err) ? -1 : 0;
}

int agent_drain(struct gpu *gpu, struct gpubind_error *err)
{
    int done = 1;

    while (done >= 0 && agent_latest(gpu))
        done = agent_done(gpu, gpu->agent->posted, err);
    return done < 0 ? -1 : 0;
}

bool agent_serves(const struct gpu *gpu, enum gpu_own_stream stream)
{
    const struct agent *agent = gpu->agent;

    return agent && !gpu_is_dead(gpu) && stream != GPU_PACK &&
           (agent->active || agent_is_armed(agent)) &&
           (agent->nwaiting > 0 || !agent_is_idle(agent));
}

bool agent_can_access(gpu_address address)
{
    unsigned type = 0;
    int attribute = CUDA_POINTER_MEMORY_TYPE;
    void *value = &type;

    return gpu_driver()->cuPointerGetAttributes(1, &attribute, &value, address) == GPU_OK && type;
}

char *agent_bounce(const struct gpu *gpu)
{
    return gpu->agent->bounce;
}

static void put_command(struct gpu *gpu, enum agent_kind kind, const void *job, size_t nbytes)
{
    struct agent *agent = gpu->agent;
    struct agent_command *command = &agent->ring->commands[agent->posted % AGENT_COMMANDS];

    while (agent->posted - agent_load(&agent->ring->done) >= AGENT_COMMANDS && !is_lost(gpu, NULL))
        ;
    command->kind = kind;
    command->nbytes = (unsigned)(nbytes + 15) / 16 * 16;
    memcpy(&command->job, job, nbytes);
    agent->posted++;
    if (agent->active)
        agent_publish_tail(agent);
    else
        agent_begin_instance(agent);
}

/* A ticket of 0 would mean that there is nothing to wait for: every 2^32 commands one is left to nobody. */
static void skip_ticket_0(struct gpu *gpu)
{
    const gpu_address bounce = (gpu_address)(uintptr_t)gpu->agent->bounce;
    const struct agent_copy onto_itself = {bounce, bounce, 16};

    if (gpu->agent->posted == UINT32_MAX)
        put_command(gpu, AGENT_ONE, &onto_itself, sizeof onto_itself);
}

uint32_t agent_post(struct gpu *gpu, enum agent_kind kind, const void *job, size_t nbytes)
{
    skip_ticket_0(gpu);
    put_command(gpu, kind, job, nbytes);
    return gpu->agent->posted;
}
