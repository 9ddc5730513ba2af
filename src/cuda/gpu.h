/* The contexts that copies run in, each with a stream of its own. Calls are not
 * thread-safe: the library holds its lock. */
#ifndef GPUBIND_CUDA_GPU_H
#define GPUBIND_CUDA_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/driver.h"

/* What arrives and what leaves must not queue behind each other, nor behind what is packed
 * when earlier work of the application is done. */
enum gpu_stream { GPU_IN, GPU_OUT, GPU_PACK, GPU_STREAMS };
enum gpu_kernel { GPU_COPY_KERNEL, GPU_EXCHANGE_KERNEL, GPU_LAYOUT_KERNEL, GPU_GATHER_KERNEL,
                  GPU_KERNELS };

struct gpu {
    struct gpu *next;
    struct CUctx_st *context;
    int ordinal;
    int multiprocessors; /* 0: the driver does not say */
    bool flushes;        /* its streams can wait for a word with CUDA_WAIT_FLUSH, */
    bool waits_for_64;   /* and for words of 64 bits */
    bool retained; /* the primary context, on our account */
    unsigned long long id; /* of the context: the address of one that was destroyed, or reset,
                              may be another's */
    uint64_t newest;       /* memory with a number up to this was seen while it was alive */
    bool dead;
    /* non-blocking: the application waits for none; GPU_PACK: NULL before gpu_need_stream */
    struct CUstream_st *streams[GPU_STREAMS];
    struct CUevent_st *order;
    struct CUmod_st *module;
    struct CUfunc_st *kernels[GPU_KERNELS]; /* see kernels.h */
    bool kernels_tried;
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
struct gpu *gpu_of(struct CUctx_st *context, int ordinal, struct gpubind_error *err);
/* The same of memory with that number, never given twice in a process. Costs no call of the
 * driver for memory that is older than what was asked for before. */
struct gpu *gpu_of_memory(struct CUctx_st *context, int ordinal, uint64_t id,
                          struct gpubind_error *err);
/* One that copies were made with; NULL: none yet. */
struct gpu *gpu_any(void);
/* The application has reset the device, or destroyed the context: its streams, events, modules,
 * memory, mappings and page locks are no more, and their handles must not be used. A struct gpu
 * is kept until the end, so that what was made with it is not taken for another's. */
bool gpu_is_dead(const struct gpu *gpu);
/* Looks for contexts that are no more; gpu_of finds those that it is asked for. */
void gpu_look_after(void);
/* To be told of each. */
void gpu_at_death(void (*tell)(const struct gpu *gpu));
/* Makes the stream when it is not there yet. 0, or -1 with a sentence. */
int gpu_need_stream(struct gpu *gpu, enum gpu_stream stream, struct gpubind_error *err);
/* Makes the GPU's context current until gpu_leave; returns what gpu_leave takes. */
bool gpu_enter(const struct gpu *gpu);
void gpu_leave(bool entered);

/* true: a blocking stream is being captured into a graph, so that nothing may be asked
 * of the legacy stream; asking would spoil the capture. */
bool gpu_is_capturing(const struct gpu *gpu);
/* While a stream is captured, elsewhere or by this thread, our calls are not part of it.
 * Returns what gpu_resume_capture takes, in the same thread. */
int gpu_suspend_capture(void);
void gpu_resume_capture(int mode);

/* Later work in the stream comes after all earlier work in the context's legacy
 * stream, and so in its blocking streams, as if the copy were a cudaMemcpy. */
int gpu_order_after_legacy(struct gpu *gpu, enum gpu_stream stream, struct gpubind_error *err);
/* 1: that work is done; 0: not yet; -1 with a sentence. */
int gpu_legacy_is_idle(const struct gpu *gpu, struct gpubind_error *err);

/* While streams of the application are held until the library has done something, calls
 * of the driver that wait for all work of a context (to free, to unmap) would wait for us,
 * and stop the calls that we have to make meanwhile. They are put off until none is. */
void gpu_hold(int more);
bool gpu_is_held(void);
/* Held by what this process has to do; the others wait for other GPUs alone. */
bool gpu_is_awaited(void);
/* The same calls are put off while messages are behind work that may be late. */
void gpu_put_off(int more);
/* They are, for one or the other. */
bool gpu_puts_off(void);
/* Memory has run out: frees what only late work put off, and waits for that. */
void gpu_free_late(void);
/* cuMemFree, or what shareable.h has for its memory. */
void gpu_free_now(const struct gpu *gpu, cuda_address memory);
/* The same, now or then. */
void gpu_free(const struct gpu *gpu, cuda_address memory);
/* What was put off and has to wait no more; see holds.h for what nobody says the end of. */
void gpu_free_laters(void);

/* -1, and "WHAT: CUDA_ERROR_NAME" in err. */
int gpu_error(int status, const char *what, struct gpubind_error *err);
/* Destroys streams and lets go of contexts. */
void gpu_stop(void);

#endif
