/* The contexts that copies run in, each with a stream of its own. Calls are not
 * thread-safe: the library holds its lock. */
#ifndef GPUBIND_GPU_CORE_GPU_CONTEXT_H
#define GPUBIND_GPU_CORE_GPU_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/core/driver.h"

/* Incoming and outgoing copies have streams of their own, so that neither queues behind the other.
 * Only GPU_PACK may wait for work of the application: packing, and frees, come after that.
 * GPU_AGENT: see copy_agent.h. */
enum gpu_own_stream { GPU_IN, GPU_OUT, GPU_PACK, GPU_AGENT, GPU_STREAMS };
enum gpu_kernel {
    GPU_COPY_KERNEL,
    GPU_EXCHANGE_KERNEL,
    GPU_DEFERRED_KERNEL,
    GPU_STRIDED_KERNEL,
    GPU_IOV_KERNEL,
    GPU_AGENT_KERNEL,
    GPU_SIGNAL_KERNEL,
    GPU_KERNELS
};

struct gpu {
    struct gpu *next;
    gpu_context context;
    int ordinal;
    int multiprocessors;   /* 0: the driver does not say */
    bool mps;              /* processes' kernels run beside each other */
    int channels;          /* of the context: where so many streams wait, no other goes on */
    unsigned users;        /* as gpu_users.h has counted them; 0: not yet */
    uint64_t device;       /* a number of the GPU, or its MIG instance, on this machine; never 0 */
    bool flushes;          /* its streams can wait for a flag with GPU_WAIT_FLUSH, */
    bool has_wait64;       /* and for flags of 64 bits */
    bool retained;         /* the primary context, retained by the library */
    unsigned long long id; /* of the context: the address of one that was destroyed, or reset,
                              may be another's */
    uint64_t newest;       /* memory IDs up to this were seen while the context was alive */
    bool dead;
    /* non-blocking: no synchronization with the legacy stream */
    gpu_stream streams[GPU_STREAMS];
    bool frees_pending; /* in GPU_PACK, see deferred_free.c */
    /* Of exchanges that may wait: those in streams of the library, and in graphs until these know their messages. */
    unsigned exchange_blocks;
    gpu_module module;
    gpu_function _Atomic kernels[GPU_KERNELS]; /* see kernels.h */
    bool kernels_tried;
    bool synchronous;                      /* the context, see sync_memops.h */
    struct agent *agent;                   /* see copy_agent.h; NULL: no stream has waited yet, */
    const struct gpu_agent_ops *agent_ops; /* and there are no operations */
};

/* Hooks of the copy agent, which is above this folder and sets them in the GPU. */
struct gpu_agent_ops {
    /* true: no kernel of the agent waits for commands; wait: waits until that is so. */
    bool (*quiesce)(struct gpu *gpu, bool wait);
    /* Before the GPU's streams are destroyed. */
    void (*stop)(struct gpu *gpu);
};

/* The GPU of the current context; without one the primary context of the first
 * visible device. NULL with a sentence when there is no GPU. */
struct gpu *gpu_current(struct gpubind_error *err);
/* The GPU that a pointer's context and ordinal name; context may be NULL (memory of
 * a pool), then the current one if it is of that device, else the primary. */
struct gpu *gpu_of(gpu_context context, int ordinal, struct gpubind_error *err);
/* The same of memory with that ID, which is unique in a process. Makes no driver call for memory
 * that is older than what was asked for before. */
struct gpu *gpu_of_memory(gpu_context context, int ordinal, uint64_t id, struct gpubind_error *err);
/* The head of the list of all GPUs, linked by `next`; NULL: none yet. */
struct gpu *gpu_first(void);
/* Loads the kernels of GPUs that were first seen while streams waited for the library, if that is
 * possible now. */
void gpus_load_kernels(void);
/* The application has reset the device, or destroyed the context: its streams, events, modules,
 * memory, mappings and page locks are gone, and their handles must not be used. A struct gpu is
 * kept until the end, so that its address identifies it. */
bool gpu_is_dead(const struct gpu *gpu);
/* Finds contexts that were destroyed; gpu_of does that, too. */
void gpus_find_dead(void);
/* The context has failed with an error: its streams make no progress any more. */
bool gpu_is_lost(const struct gpu *gpu);
/* Registers a function that is called for each destroyed context. */
void gpu_on_context_destroyed(void (*hook)(const struct gpu *gpu));
/* Makes the GPU's context current until gpu_leave; returns what gpu_leave takes. */
bool gpu_enter(const struct gpu *gpu);
void gpu_leave(bool entered);

/* true: a blocking stream is being captured into a graph; a query of the legacy stream would
 * invalidate the capture. */
bool gpu_is_capturing(const struct gpu *gpu);
/* Neither the legacy stream nor a blocking one has work, or is being captured. */
bool gpu_is_idle(const struct gpu *gpu);
/* The same of all contexts. */
bool gpus_are_idle(void);
/* The library's streams have no work but the copy agent's. */
bool gpu_copies_are_idle(const struct gpu *gpu);
/* true: the copy agents are idle, and none of their kernels waits for more commands, as one does
 * while a stream of the application waits. wait: waits until that is so. */
bool gpu_agents_quiesce(bool wait);
/* Before a call of class B (src/gpu/README.md): a thread of the application may be in the driver, which waits for a
 * kernel that stays a while after the last stream has gone on. */
void gpu_agents_leave(void);
/* While a stream is captured, by this or another thread, the library's calls are not part of it.
 * Returns what gpu_resume_capture takes, in the same thread. */
int gpu_suspend_capture(void);
void gpu_resume_capture(int mode);
/* Of the legacy and blocking streams of the current context. While one of these is captured, that cannot
 * be asked: it would invalidate the capture. */
enum gpu_work { GPU_NO_WORK, GPU_WORK, GPU_CAPTURED };
enum gpu_work gpu_legacy_work(void);

/* Some driver calls (src/gpu/README.md) wait until all streams of a context are idle. They are made
 * only when no stream of the application waits for the library. */

/* Counts streams, of this or another process, that wait for the library: more (or less). */
void gpu_guard(int more);
bool gpu_is_guarded(void);
/* No stream is guarded, and neither legacy nor blocking streams have work, which might wait for the
 * library unknown to it. */
bool gpu_may_wait(void);
/* From now on gpu_may_wait ignores work in streams: the library ends, and nothing waits for it. */
void gpu_allow_waiting(void);
/* Allocates memory that is not exported, in the order of GPU_OUT. 0: out of memory. The context is
 * current. */
gpu_address gpu_allocate(const struct gpu *gpu, size_t nbytes);
/* Frees memory of cuMemAlloc, gpu_allocate or vmm.h after the work that is in the legacy and
 * blocking streams now. Does not wait. */
void gpu_free_deferred(struct gpu *gpu, gpu_address memory);
/* Frees what could not be freed in a stream, if waiting is allowed now. */
void gpu_free_retry(void);
/* All memory passed to gpu_free_deferred is free. */
bool gpu_frees_are_done(void);
/* Waits for that, at most half a second; for when memory has run out. */
void gpu_await_frees(void);
/* Frees it at once; waits for the GPU. For the end of the library. */
void gpu_free_now(const struct gpu *gpu, gpu_address memory);

/* Destroys streams and lets go of contexts. */
void gpu_stop(void);

#endif
