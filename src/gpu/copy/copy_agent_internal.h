/* The copy agent of a GPU: what its commands (copy_agent.c) and the instances of its kernel (copy_agent_instances.c)
 * share. Under the library's lock. */
#ifndef GPUBIND_GPU_COPY_COPY_AGENT_INTERNAL_H
#define GPUBIND_GPU_COPY_COPY_AGENT_INTERNAL_H

#include "gpu/copy/copy_agent.h"

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

static inline uint32_t agent_load(const unsigned *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline bool agent_is_idle(const struct agent *agent)
{
    return agent_load(&agent->ring->done) == agent->posted;
}

/* An instance waits for the doorbell. */
static inline bool agent_is_armed(const struct agent *agent)
{
    return agent->launched != agent->started;
}

/* Tells the kernel of the commands, and of instances that are to exit. */
void agent_publish_tail(struct agent *agent);
/* The instance executes commands; the one before has ended. */
void agent_begin_instance(struct agent *agent);

#endif
