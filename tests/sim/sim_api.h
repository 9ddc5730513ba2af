/* What the simulated driver exports beyond src/gpu/core/driver_api.h: more of the
 * driver's calls, for tests that play the application, and its own controls. */
#ifndef GPUBIND_TESTS_SIM_API_H
#define GPUBIND_TESTS_SIM_API_H

#include "gpu/core/driver_api.h"

struct CUgraph_st;
struct CUgraphExec_st;
struct CUdevResource_st;
struct CUdevResourceDesc_st;

/* name, arguments; all return a CUresult. */
#define SIM_DRIVER_FUNCTIONS(X)                                                                  \
    CUDA_MEASURE_FUNCTIONS(X)                                                                    \
    X(cuCtxCreate_v2, (struct CUctx_st **, unsigned, int))                                       \
    X(cuCtxDestroy_v2, (struct CUctx_st *))                                                      \
    X(cuCtxSetCurrent, (struct CUctx_st *))                                                      \
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
    X(cuDevicePrimaryCtxReset_v2, (int))                                                         \
    X(cuFuncSetAttribute, (struct CUfunc_st *, int, int))                                        \
    X(cuGraphDestroy, (struct CUgraph_st *))                                                     \
    X(cuGraphExecDestroy, (struct CUgraphExec_st *))                                             \
    X(cuGraphInstantiateWithFlags,                                                               \
      (struct CUgraphExec_st **, struct CUgraph_st *, unsigned long long))                       \
    X(cuGraphLaunch, (struct CUgraphExec_st *, struct CUstream_st *))                            \
    X(cuLaunchHostFunc, (struct CUstream_st *, void (*)(void *), void *))                        \
    X(cuMemAllocManaged, (cuda_address *, size_t, unsigned))                                     \
    X(cuMemFreeHost, (void *))                                                                   \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                     \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                               \
    X(cuMemcpyDtoD_v2, (cuda_address, cuda_address, size_t))                                     \
    X(cuMemcpyDtoH_v2, (void *, cuda_address, size_t))                                           \
    X(cuMemcpyHtoD_v2, (cuda_address, const void *, size_t))                                     \
    X(cuMemcpyHtoD_v2_ptds, (cuda_address, const void *, size_t))                                \
    X(cuStreamBeginCapture_v2, (struct CUstream_st *, int))                                      \
    X(cuStreamEndCapture, (struct CUstream_st *, struct CUgraph_st **))

/* Calls of the function so far in this process; -1 when there is none of that name. */
int gpubind_sim_calls(const char *function);
/* Launches of the kernel so far in this process; -1 when there is none of that name. */
int gpubind_sim_launches(const char *kernel);
/* Mappings of other processes' memory that this process has open. */
int gpubind_sim_open_mappings(void);

#endif
