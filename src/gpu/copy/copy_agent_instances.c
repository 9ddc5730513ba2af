/* The instances of the copy agent's kernel: when they are launched, let run, and ended. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "gpu/copy/copy_agent_internal.h"
#include "gpu/core/kernels.h"
#include "gpu/core/page_locked.h"
#include "gpu/core/waiting_blocks.h"

static unsigned blocks = 8;
static atomic_bool attended; /* the since or held of some is not 0 */
static double look_at;       /* seconds: when one is to be looked after; 0: never */

/* The one that was launched last, or is being launched, and waits for the doorbell: NULL: none, */
static _Atomic(struct agent_ring *) waiting;
static _Atomic uint32_t waiting_number; /* what rings it, */
static _Atomic double waiting_since;    /* and seconds. */

void agent_set_blocks(unsigned n)
{
    blocks = n;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int zero(struct gpu *gpu, gpu_address at, size_t nbytes)
{
    int status = gpu_driver()->cuMemsetD8Async(at, 0, nbytes, gpu->streams[GPU_AGENT]);

    return status == GPU_OK ? gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_AGENT]) : status;
}

static void look_after_at(double at)
{
    attended = true;
    if (look_at == 0 || at < look_at)
        look_at = at;
}

static void ring_doorbell(struct agent *agent, uint32_t number)
{
    if ((int32_t)(number - agent_load(&agent->ring->doorbell)) > 0)
        __atomic_store_n(&agent->ring->doorbell, number, __ATOMIC_RELEASE);
    if (waiting == agent->ring)
        waiting = NULL;
}

/* The context is current. */
static int queue_launch(struct gpu *gpu, struct agent *agent)
{
    struct agent_kernel_job job = {(gpu_address)(uintptr_t)agent->ring, agent->state,
                                   agent->launched};
    void *parameters[] = {&job};
    gpu_stream stream = gpu->streams[GPU_AGENT];
    const unsigned most = waiting_blocks_of_agent(gpu);
    int status = gpu_driver()->cuStreamWaitValue32_v2(
        stream, (gpu_address)(uintptr_t)&agent->ring->doorbell, agent->launched + 1, GPU_WAIT_GEQ);

    if (status == GPU_OK)
        status = gpu_driver()->cuLaunchKernel(
            kernel_of(gpu, GPU_AGENT_KERNEL), blocks < most ? blocks : most, 1, 1,
            AGENT_KERNEL_THREADS, 1, 1, 0, stream, parameters, NULL);
    return status;
}

static int launch(struct gpu *gpu, struct agent *agent)
{
    int status;

    waiting_number = agent->launched + 1;
    waiting_since = seconds();
    waiting = agent->ring;
    status = queue_launch(gpu, agent);
    if (status == GPU_OK)
        agent->launched++;
    else /* that wait has no kernel; an instance that starts early waits for commands */
        ring_doorbell(agent, agent->launched + 1);
    return status;
}

void agents_unblock(void)
{
    struct agent_ring *ring = waiting;
    uint32_t last = waiting_number - 1;

    if (ring && seconds() - waiting_since > AGENT_HELD)
        __atomic_compare_exchange_n(&ring->doorbell, &last, last + 1, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
}

static void note_held(struct agent *agent)
{
    agent->held = agent_is_armed(agent) ? seconds() : 0;
    if (agent->held != 0)
        look_after_at(agent->held + AGENT_HELD);
}

void agent_publish_tail(struct agent *agent)
{
    const uint32_t ended = agent->started - agent->active;

    __atomic_store_n(&agent->ring->tail, (uint64_t)ended << 32 | agent->posted, __ATOMIC_RELEASE);
}

void agent_begin_instance(struct agent *agent)
{
    agent->started++;
    agent->active = true;
    note_held(agent);
    agent_publish_tail(agent);
    ring_doorbell(agent, agent->started);
}

/* All commands are done. */
static void end_instance(struct agent *agent)
{
    agent->active = false;
    agent_publish_tail(agent);
}

/* Launches one where there is none. While streams wait, no other is launched: a thread of the application may be in a
 * call that waits for one of them, and keeps launches waiting. */
static void arm_instance(struct gpu *gpu, struct agent *agent)
{
    bool entered;

    if (agent->broken || agent->active || agent_is_armed(agent) ||
        agent->launched - agent_load(&agent->ring->exited) >= AGENT_INSTANCES - 1)
        return;
    entered = gpu_enter(gpu);
    agent->broken = launch(gpu, agent) != GPU_OK;
    gpu_leave(entered);
    note_held(agent);
}

/* Lets the instance exit when no stream waits. */
static void retire_instance(struct agent *agent)
{
    if (agent->nwaiting > 0)
        return;
    if (agent_is_armed(agent))
        agent_begin_instance(agent);
    if (agent->active && agent_is_idle(agent))
        end_instance(agent);
    if (!agent->active)
        agent->since = 0;
}

/* Runs one instance to its end, so that the driver has loaded the kernel. */
static bool start(struct gpu *gpu, struct agent *agent, struct gpubind_error *err)
{
    /* Not from the driver's pool, which takes 13 ms to begin with. */
    if (gpu_driver()->cuMemAlloc_v2(&agent->state, sizeof(struct agent_state)) != GPU_OK ||
        zero(gpu, agent->state, sizeof(struct agent_state)) != GPU_OK)
        return false;
    agent->bounce = page_locked(AGENT_BOUNCE_BYTES, err);
    if (agent->bounce)
        agent->ring = page_locked(sizeof *agent->ring, err);
    if (!agent->ring)
        return false;
    arm_instance(gpu, agent);
    retire_instance(agent);
    return !agent->broken && gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_AGENT]) == GPU_OK;
}

static void try_start(struct gpu *gpu, struct agent *agent)
{
    struct gpubind_error unheard;
    bool entered;

    if (agent->tried || !gpu_driver()->cuStreamWaitValue32_v2 || !kernel_of(gpu, GPU_AGENT_KERNEL))
        return;
    agent->tried = true;
    entered = gpu_enter(gpu);
    if (!start(gpu, agent, &unheard))
        agent->broken = true;
    gpu_leave(entered);
}

/* true: no instance is launched that does not exit by itself. Where a launch has failed, those before it may be. */
static bool agent_quiesce(struct gpu *gpu, bool wait)
{
    struct agent *agent = gpu->agent;

    if (wait)
        agent_drain(gpu, NULL);
    if (!agent || !agent->ring || gpu_is_dead(gpu) || (agent->broken && gpu_is_lost(gpu)))
        return true;
    retire_instance(agent);
    return !agent->active && !agent_is_armed(agent);
}

/* The ring is not freed: an instance may still read it. */
static void agent_stop(struct gpu *gpu)
{
    struct agent *agent = gpu->agent;

    if (!agent)
        return;
    agent_drain(gpu, NULL);
    agent->nwaiting = 0;
    if (agent->ring)
        retire_instance(agent);
    if (agent->state)
        gpu_free_deferred(gpu, agent->state);
    free(agent);
    gpu->agent = NULL;
}

static const struct gpu_agent_ops ops = {.quiesce = agent_quiesce, .stop = agent_stop};

void agent_count_waiting(struct gpu *gpu, int more)
{
    struct agent *agent = gpu->agent;

    if (gpu_is_dead(gpu))
        return;
    if (!agent)
        agent = gpu->agent = calloc(1, sizeof *agent);
    if (!agent) /* no memory: the driver copies */
        return;
    gpu->agent_ops = &ops;
    if (more > 0)
        try_start(gpu, agent);
    agent->nwaiting += more;
    if (!agent->ring)
        return;
    if (more > 0)
        arm_instance(gpu, agent);
    agent->since = 0;
    if (agent->nwaiting > 0)
        return;
    agent->since = seconds();
    look_after_at(agent->since + AGENT_LINGERS);
}

bool agent_attend(const struct gpu *gpu)
{
    const struct agent *agent = gpu->agent;

    if (agent && (agent->active || (agent->ring && agent_is_armed(agent))))
        return false;
    look_after_at(seconds() + AGENT_HELD);
    return true;
}

void agent_run_at_once(const struct gpu *gpu)
{
    struct agent *agent = gpu->agent;

    if (agent && agent->ring && !gpu_is_dead(gpu) && agent_is_armed(agent))
        agent_begin_instance(agent);
}

bool agents_need_looks(void)
{
    return attended;
}

static void look_after(struct gpu *gpu, struct agent *agent)
{
    const double now = seconds();

    if (agent->since != 0 && now - agent->since > AGENT_LINGERS)
        retire_instance(agent);
    if (agent->held != 0 && now - agent->held > AGENT_HELD) {
        note_held(agent);
        if (!gpu_is_idle(gpu) || !gpu_copies_are_idle(gpu)) /* they may be behind the instance */
            agent_begin_instance(agent);
    }
    if ((agent->since != 0 || agent->held != 0) && gpu_is_lost(gpu))
        agent->since = agent->held = 0; /* its commands do not end */
    if (agent->since != 0)
        look_after_at(agent->since + AGENT_LINGERS);
    if (agent->held != 0)
        look_after_at(agent->held + AGENT_HELD);
}

void agents_look_after(void)
{
    if (look_at == 0 || seconds() < look_at)
        return;
    look_at = 0;
    for (struct gpu *gpu = gpu_first(); gpu; gpu = gpu->next)
        if (gpu->agent && gpu->agent->ring)
            look_after(gpu, gpu->agent);
    attended = look_at != 0;
}
