#include "gpu/copy/copy_agent.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/core/kernels.h"
#include "gpu/core/page_locked.h"
#include "gpu/core/waiting_blocks.h"

#define POLLS_PER_QUERY \
    4096 /* without progress, until the driver is asked whether the context works */

struct agent {
    struct agent_ring *ring; /* NULL: not started, and the driver copies */
    char *bounce;
    gpu_address state;
    bool tried;   /* to start it */
    int nwaiting; /* waits for the library in streams of the application */
    double
        since; /* seconds: when the last of them ended; 0: there are some, or nothing is to be retired */
    double held;       /* since when an instance waits for the doorbell; 0: none does */
    uint32_t launched; /* instances, started or waiting for the doorbell: one at most */
    uint32_t started;  /* instances that the doorbell has let go */
    bool active;       /* the latest of these executes commands; then none is armed */
    uint32_t posted;   /* as in the ring */
    unsigned polls;
    bool broken; /* not to be used: the driver refused a call */
};

static unsigned blocks = 8;
static atomic_bool attended; /* the since or held of some is not 0 */
static double look_at;       /* seconds: when one is to be looked after; 0: never */

/* The one that is being launched, which the driver may let wait: NULL: none, */
static _Atomic(struct agent_ring *) launching;
static _Atomic uint32_t launching_number; /* what rings its doorbell, */
static _Atomic double launching_since;    /* and seconds. */

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

static uint32_t load(const unsigned *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool is_idle(const struct agent *agent)
{
    return load(&agent->ring->done) == agent->posted;
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
    if ((int32_t)(number - load(&agent->ring->doorbell)) > 0)
        __atomic_store_n(&agent->ring->doorbell, number, __ATOMIC_RELEASE);
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

    launching_number = agent->launched + 1;
    launching_since = seconds();
    launching = agent->ring;
    status = queue_launch(gpu, agent);
    launching = NULL;
    if (status == GPU_OK)
        agent->launched++;
    else /* that wait has no kernel; an instance that starts early waits for commands */
        ring_doorbell(agent, agent->launched + 1);
    return status;
}

void agents_unblock(void)
{
    struct agent_ring *ring = launching;
    uint32_t last = launching_number - 1;

    if (ring && seconds() - launching_since > AGENT_HELD)
        __atomic_compare_exchange_n(&ring->doorbell, &last, last + 1, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
}

static bool is_armed(const struct agent *agent)
{
    return agent->launched != agent->started;
}

static void note_held(struct agent *agent)
{
    agent->held = is_armed(agent) ? seconds() : 0;
    if (agent->held != 0)
        look_after_at(agent->held + AGENT_HELD);
}

static void publish_tail(struct agent *agent)
{
    const uint32_t ended = agent->started - agent->active;

    __atomic_store_n(&agent->ring->tail, (uint64_t)ended << 32 | agent->posted, __ATOMIC_RELEASE);
}

/* The instance executes commands; the one before has ended. */
static void begin_instance(struct agent *agent)
{
    agent->started++;
    agent->active = true;
    note_held(agent);
    publish_tail(agent);
    ring_doorbell(agent, agent->started);
}

/* All commands are done. */
static void end_instance(struct agent *agent)
{
    agent->active = false;
    publish_tail(agent);
}

/* Launches one where there is none. While streams wait, no other is launched: a thread of the application may be in a
 * call that waits for one of them, and keeps launches waiting. */
static void arm_instance(struct gpu *gpu, struct agent *agent)
{
    bool entered;

    if (agent->broken || agent->active || is_armed(agent) ||
        agent->launched - load(&agent->ring->exited) >= AGENT_INSTANCES - 1)
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
    if (is_armed(agent))
        begin_instance(agent);
    if (agent->active && is_idle(agent))
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

uint32_t agent_latest(const struct gpu *gpu)
{
    const struct agent *agent = gpu->agent;

    return agent && agent->ring && !is_idle(agent) ? agent->posted : 0;
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

    if ((int32_t)(load(&agent->ring->done) - ticket) >= 0)
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

/* true: no instance is launched that does not exit by itself. Where a launch has failed, those before it may be. */
static bool agent_quiesce(struct gpu *gpu, bool wait)
{
    struct agent *agent = gpu->agent;

    if (wait)
        agent_drain(gpu, NULL);
    if (!agent || !agent->ring || gpu_is_dead(gpu) || (agent->broken && gpu_is_lost(gpu)))
        return true;
    retire_instance(agent);
    return !agent->active && !is_armed(agent);
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

    if (agent && (agent->active || (agent->ring && is_armed(agent))))
        return false;
    look_after_at(seconds() + AGENT_HELD);
    return true;
}

void agent_run_at_once(const struct gpu *gpu)
{
    struct agent *agent = gpu->agent;

    if (agent && agent->ring && !gpu_is_dead(gpu) && is_armed(agent))
        begin_instance(agent);
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
        if (!gpu_is_idle(gpu)) /* the legacy stream's work may be behind the instance */
            begin_instance(agent);
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

bool agent_serves(const struct gpu *gpu, enum gpu_own_stream stream)
{
    const struct agent *agent = gpu->agent;

    return agent && !gpu_is_dead(gpu) && stream != GPU_PACK && (agent->active || is_armed(agent)) &&
           (agent->nwaiting > 0 || !is_idle(agent));
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

    while (agent->posted - load(&agent->ring->done) >= AGENT_COMMANDS && !is_lost(gpu, NULL))
        ;
    command->kind = kind;
    command->nbytes = (unsigned)(nbytes + 15) / 16 * 16;
    memcpy(&command->job, job, nbytes);
    agent->posted++;
    if (agent->active)
        publish_tail(agent);
    else
        begin_instance(agent);
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
