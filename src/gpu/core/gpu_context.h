/* The contexts that copies run in, each with a stream of its own. Calls are not
 * thread-safe: the library holds its lock. */
#ifndef GPUBIND_GPU_CORE_GPU_CONTEXT_H
#define GPUBIND_GPU_CORE_GPU_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/core/driver.h"

/* What arrives and what leaves must not queue behind each other. GPU_PACK alone may wait for
 * work of the application: what is packed, and freed, after that. GPU_AGENT: see copy_agent.h. */
enum gpu_own_stream { GPU_IN, GPU_OUT, GPU_PACK, GPU_AGENT, GPU_STREAMS };
enum gpu_kernel {
    GPU_COPY_KERNEL,
    GPU_EXCHANGE_KERNEL,
    GPU_STRIDED_KERNEL,
    GPU_IOV_KERNEL,
    GPU_AGENT_KERNEL,
    GPU_KERNELS
};

struct gpu {
    struct gpu *next;
    gpu_context context;
    int ordinal;
    int multiprocessors;   /* 0: the driver does not say */
    bool flushes;          /* its streams can wait for a word with GPU_WAIT_FLUSH, */
    bool waits_for_64;     /* and for words of 64 bits */
    bool retained;         /* the primary context, on our account */
    unsigned long long id; /* of the context: the address of one that was destroyed, or reset,
                              may be another's */
    uint64_t newest;       /* memory with a number up to this was seen while it was alive */
    bool dead;
    /* non-blocking: the application waits for none */
    gpu_stream streams[GPU_STREAMS];
    gpu_module module;
    gpu_function _Atomic kernels[GPU_KERNELS]; /* see kernels.h */
    bool kernels_tried;
    bool synchronous;                      /* the context, see sync_memops.h */
    struct agent *agent;                   /* see copy_agent.h; NULL: no stream was ever held, */
    const struct gpu_agent_ops *agent_ops; /* and there are no operations */
};

/* Hooks of the copy agent, which is above this folder and sets them in the GPU. */
struct gpu_agent_ops {
    /* true: no kernel of the agent waits for commands; wait: waits until that is so. */
    bool (*quiesce)(struct gpu *gpu, bool wait);
    /* Before the GPU's streams are destroyed. */
    void (*stop)(struct gpu *gpu);
};

/* The driver, once this process uses CUDA; else NULL. Loads nothing: before the
 * application (or gpu_start) has initialised CUDA there is no GPU memory. */
const struct cuda_driver *gpu_driver(void);
/* Initialises CUDA when the application has not. 0, or -1 with a sentence. */
int gpu_start(struct gpubind_error *err);
/* The GPU of the current context; without one the primary context of the first
 * visible device. NULL with a sentence when there is no GPU. */
struct gpu *gpu_current(struct gpubind_error *err);
/* The GPU that a pointer's context and ordinal name; context may be NULL (memory of
 * a pool), then the current one if it is of that device, else the primary. */
struct gpu *gpu_of(gpu_context context, int ordinal, struct gpubind_error *err);
/* One that copies were made with, the first of all by `next`; NULL: none yet. */
struct gpu *gpu_any(void);
/* Loads the kernels of those that were first seen when streams were held, if it may be. */
void gpus_complete(void);
/* The same of memory with that number, never given twice in a process. Costs no call of the
 * driver for memory that is older than what was asked for before. */
struct gpu *gpu_of_memory(gpu_context context, int ordinal, uint64_t id, struct gpubind_error *err);
/* The application has reset the device, or destroyed the context: its streams, events, modules,
 * memory, mappings and page locks are no more, and their handles must not be used. A struct gpu
 * is kept until the end, so that what was made with it is not taken for another's. */
bool gpu_is_dead(const struct gpu *gpu);
/* Looks for contexts that are no more; gpu_of finds those that it is asked for. */
void gpu_look_after(void);
/* After an error of its context none of its streams gets anywhere any more. */
bool gpu_is_lost(const struct gpu *gpu);
/* To be told of each. */
void gpu_at_death(void (*tell)(const struct gpu *gpu));
/* Makes the GPU's context current until gpu_leave; returns what gpu_leave takes. */
bool gpu_enter(const struct gpu *gpu);
void gpu_leave(bool entered);

/* true: a blocking stream is being captured into a graph, so that nothing may be asked
 * of the legacy stream; asking would spoil the capture. */
bool gpu_is_capturing(const struct gpu *gpu);
/* Neither the legacy stream nor a blocking one has work, or is being captured. */
bool gpu_is_idle(const struct gpu *gpu);
/* The same of all contexts. */
bool gpus_are_idle(void);
/* true: the copy agents are idle, and none of their kernels waits for more commands, as one does
 * while a stream of the application waits. wait: waits until that is so. */
bool gpu_agents_quiesce(bool wait);
/* While a stream is captured, elsewhere or by this thread, our calls are not part of it.
 * Returns what gpu_resume_capture takes, in the same thread. */
int gpu_suspend_capture(void);
void gpu_resume_capture(int mode);

/* Some calls of the driver (README in this folder) wait until all streams of a context are
 * idle. Streams of the application may wait for us: such calls are made when none does. */

/* That many streams more (or less) wait for the library, of this or of another process. */
void gpu_guard(int more);
bool gpu_is_guarded(void);
/* No stream is guarded, and none of the legacy and blocking ones has work, which might wait for
 * us without our knowing. */
bool gpu_may_wait(void);
/* From now on gpu_may_wait leaves work out: the library ends, and nothing waits for us. */
void gpu_wait_from_now_on(void);
/* Memory of the library's own, which is not exported, for work in GPU_OUT, and elsewhere after
 * that; 0: none. The context is current. */
gpu_address gpu_allocate(const struct gpu *gpu, size_t nbytes);
/* What cuMemAlloc, gpu_allocate or vmm.h gave is free after the work that is in the
 * legacy and blocking streams now. Waits for nothing. */
void gpu_free_deferred(struct gpu *gpu, gpu_address memory);
/* What could not be given to a stream to free, if that may be waited for. */
void gpu_free_retry(void);
/* All that gpu_free_deferred was called for is free. */
bool gpu_frees_are_done(void);
/* Memory has run out: until it is so, for a moment at most. */
void gpu_await_frees(void);
/* At the end: at once, and waits. */
void gpu_free_now(const struct gpu *gpu, gpu_address memory);

/* -1, and "WHAT: CUDA_ERROR_NAME" in err. */
int gpu_error(int status, const char *what, struct gpubind_error *err);
/* Destroys streams and lets go of contexts. */
void gpu_stop(void);

#endif
