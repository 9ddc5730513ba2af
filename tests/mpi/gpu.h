/* GPU memory for the tests, through the driver: libcuda.so.1 may be NVIDIA's or the
 * simulated one. A rank without a GPU gets host memory wherever it asks for a GPU's, so
 * that the same tests run anywhere. */
#ifndef GPUBIND_TESTS_MPI_GPU_H
#define GPUBIND_TESTS_MPI_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/core/driver_api.h"

struct CUdevResource_st;
struct CUdevResourceDesc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct vmm_access;
struct vmm_properties;

/* What the tests call beside what the library calls; NULL where it is missing. */
#define GPU_TEST_FUNCTIONS(X)                                                                    \
    X(cuCtxSetCurrent, (struct CUctx_st *))                                                      \
    X(cuCtxCreate_v2, (struct CUctx_st **, unsigned, int))                                       \
    X(cuCtxFromGreenCtx, (struct CUctx_st **, struct CUgreenCtx_st *))                           \
    X(cuDeviceGetDevResource, (int, struct CUdevResource_st *, int))                             \
    X(cuDevSmResourceSplitByCount,                                                               \
      (struct CUdevResource_st *, unsigned *, const struct CUdevResource_st *,                   \
       struct CUdevResource_st *, unsigned, unsigned))                                           \
    X(cuDevResourceGenerateDesc,                                                                 \
      (struct CUdevResourceDesc_st **, struct CUdevResource_st *, unsigned))                     \
    X(cuGreenCtxCreate, (struct CUgreenCtx_st **, struct CUdevResourceDesc_st *, int, unsigned)) \
    X(cuGreenCtxDestroy, (struct CUgreenCtx_st *))                                               \
    X(cuGreenCtxStreamCreate, (struct CUstream_st **, struct CUgreenCtx_st *, unsigned, int))    \
    X(cuCtxDestroy_v2, (struct CUctx_st *))                                                      \
    X(cuDevicePrimaryCtxReset_v2, (int))                                                         \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                     \
    X(cuMemcpyDtoH_v2, (void *, cuda_address, size_t))                                           \
    X(cuMemcpyDtoD_v2, (cuda_address, cuda_address, size_t))                                     \
    X(cuMemcpyHtoD_v2, (cuda_address, const void *, size_t))                                     \
    X(cuMemcpyHtoD_v2_ptds, (cuda_address, const void *, size_t))                                \
    X(cuMemAllocAsync, (cuda_address *, size_t, struct CUstream_st *))                           \
    X(cuMemFreeAsync, (cuda_address, struct CUstream_st *))                                      \
    X(cuMemAllocManaged, (cuda_address *, size_t, unsigned))                                     \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                               \
    X(cuMemFreeHost, (void *))                                                                   \
    X(cuMemGetAllocationGranularity, (size_t *, const struct vmm_properties *, int))             \
    X(cuMemCreate,                                                                               \
      (unsigned long long *, size_t, const struct vmm_properties *, unsigned long long))         \
    X(cuMemRelease, (unsigned long long))                                                        \
    X(cuMemAddressReserve, (cuda_address *, size_t, size_t, cuda_address, unsigned long long))   \
    X(cuMemAddressFree, (cuda_address, size_t))                                                  \
    X(cuMemMap, (cuda_address, size_t, size_t, unsigned long long, unsigned long long))          \
    X(cuMemUnmap, (cuda_address, size_t))                                                        \
    X(cuMemSetAccess, (cuda_address, size_t, const struct vmm_access *, size_t))                 \
    X(cuFuncSetAttribute, (struct CUfunc_st *, int, int))                                        \
    X(cuLaunchHostFunc, (struct CUstream_st *, void (*)(void *), void *))                        \
    X(cuStreamBeginCapture_v2, (struct CUstream_st *, int))                                      \
    X(cuStreamEndCapture, (struct CUstream_st *, struct CUgraph_st **))                          \
    X(cuGraphDestroy, (struct CUgraph_st *))                                                     \
    X(cuGraphExecDestroy, (struct CUgraphExec_st *))                                             \
    X(cuGraphInstantiateWithFlags,                                                               \
      (struct CUgraphExec_st **, struct CUgraph_st *, unsigned long long))                       \
    X(cuGraphLaunch, (struct CUgraphExec_st *, struct CUstream_st *))

struct cuda_driver {
#define X(name, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(X)
    GPU_TEST_FUNCTIONS(X)
#undef X
};

extern struct cuda_driver cuda; /* filled by gpu_start */
extern int gpu_count;           /* devices that this rank sees; 0: it has no GPU */

/* Makes the primary context of device number local ($TEST_DEVICE, if set), modulo
 * their count, current in this thread. Without a driver, a device or the right to one
 * (GPUBIND_ROLE is idle or master) it only sets gpu_count to 0. */
void gpu_start(int local);
void gpu_end(void);
/* A kernel has failed: nothing of CUDA can be used any more. */
void gpu_is_lost_to_test(void);
/* Makes the context of that device current; 0, or what the driver says. */
int gpu_use(int device);
/* What cudaDeviceReset does, and the first call after it. */
void gpu_reset(int device);
/* A context of the program's own instead, current; gpu_end_context destroys it, and makes
 * the primary one current again. */
struct CUctx_st *gpu_make_context(int device);
void gpu_end_context(struct CUctx_st *context, int device);

enum memory {
    MEMORY_HOST,
    MEMORY_DEVICE,
    MEMORY_OURS, /* gpubind_alloc */
    MEMORY_POOL, /* cuMemAllocAsync */
    MEMORY_MANAGED,
    MEMORY_PINNED,     /* page-locked by the driver */
    MEMORY_REGISTERED, /* page-locked afterwards */
    MEMORY_VMM,        /* cuMemCreate: cannot be exported */
    MEMORY_EXPORTABLE, /* the same, as a descriptor */
    MEMORY_KINDS
};

const char *memory_name(enum memory kind);

enum { BUFFER_GUARD = 256, BUFFER_UNTOUCHED = 0xA5 };

/* Bytes that a test sends from or receives into; a guard lies behind them. */
struct buffer {
    char *at;
    size_t nbytes;
    enum memory kind;
};

/* All bytes are "untouched". Returns 0, or -1 where the driver does not have such
 * memory. buffer_clear frees it, and may be called after a failure. */
int buffer_make(struct buffer *buffer, enum memory kind, size_t nbytes);
void buffer_clear(struct buffer *buffer);
/* Makes all bytes "untouched" again. */
void buffer_reset(const struct buffer *buffer);
/* Bytes that follow from seed, from offset on. */
void buffer_fill(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed);
/* Are nbytes from offset on those of seed? The first of them that differs is
 * *differs (NULL: nobody asks). */
bool buffer_holds(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed,
                  size_t *differs);
/* Was nothing written from offset on, guard included? */
bool buffer_untouched(const struct buffer *buffer, size_t offset);

/* The same on bare addresses, of whatever memory. */
void bytes_of_seed(char *bytes, size_t nbytes, uint64_t seed);
void gpu_put(void *to, const void *from_host, size_t nbytes);
void gpu_get(void *to_host, const void *from, size_t nbytes);
/* Is this memory of a device, by the driver's word? */
bool gpu_owns(const void *at);

/* Memory of cuMemCreate on the current device; NULL where the driver has none. */
void *vmm_make(size_t nbytes, bool exportable);
void vmm_clear(void *at, size_t nbytes);

/* What the driver says of memory is of this job alone. */
bool gpu_is_simulated(void);
/* A function of the simulated driver's own (tests/sim/sim_api.h); NULL where that is not there. */
void *simulator_function(const char *name);
/* Gives stream thirty milliseconds of work. */
void gpu_keep_busy(struct CUstream_st *stream);

#endif
