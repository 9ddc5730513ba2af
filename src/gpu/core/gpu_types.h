/* The driver's types, constants and calls by names of no vendor: what the folders above src/gpu
 * use. For CUDA they are those of driver_api.h. */
#ifndef GPUBIND_GPU_CORE_GPU_TYPES_H
#define GPUBIND_GPU_CORE_GPU_TYPES_H

#include "gpu/core/driver_api.h"

typedef cuda_address gpu_address; /* memory of a GPU, or host memory that GPUs address */
typedef struct CUctx_st *gpu_context;
typedef struct CUstream_st *gpu_stream;
typedef struct CUevent_st *gpu_event;
typedef struct CUmod_st *gpu_module;
typedef struct CUfunc_st *gpu_function;
typedef struct CUgraph_st *gpu_graph;
typedef struct CUgraphExec_st *gpu_graph_exec;
typedef struct cuda_ipc_handle gpu_ipc_handle;

#define GPU_LEGACY_STREAM CUDA_LEGACY_STREAM
#define GPU_PER_THREAD_STREAM CUDA_PER_THREAD_STREAM

enum gpu_result { /* of each call; others are possible, see gpu_error */
                  GPU_OK = CUDA_OK,
                  GPU_INVALID_VALUE = CUDA_INVALID_VALUE,
                  GPU_OUT_OF_MEMORY = CUDA_OUT_OF_MEMORY,
                  GPU_NO_DEVICE = CUDA_NO_DEVICE,
                  GPU_NOT_READY = CUDA_NOT_READY,
                  GPU_ALREADY_MAPPED = CUDA_ALREADY_MAPPED,
                  GPU_PEER_ALREADY_ENABLED = CUDA_PEER_ALREADY_ENABLED,
                  GPU_PEER_NOT_ENABLED = CUDA_PEER_NOT_ENABLED,
                  GPU_NOT_SUPPORTED = CUDA_NOT_SUPPORTED,
                  GPU_CAPTURE_UNSUPPORTED = CUDA_CAPTURE_UNSUPPORTED,
                  GPU_CAPTURE_IMPLICIT = CUDA_CAPTURE_IMPLICIT,
};

enum gpu_constant {
    GPU_ATTRIBUTE_UNIFIED_ADDRESSING = CUDA_ATTRIBUTE_UNIFIED_ADDRESSING,
    GPU_ATTRIBUTE_MULTIPROCESSORS = CUDA_ATTRIBUTE_MULTIPROCESSORS,
    GPU_ATTRIBUTE_COMPUTE_MAJOR = CUDA_ATTRIBUTE_COMPUTE_MAJOR,
    GPU_ATTRIBUTE_MEMORY_CLOCK = CUDA_ATTRIBUTE_MEMORY_CLOCK, /* kHz */
    GPU_ATTRIBUTE_MEMORY_BUS = CUDA_ATTRIBUTE_MEMORY_BUS,     /* bits */
    GPU_PAIR_RANK = CUDA_PAIR_RANK,                           /* 0 is the best */
    GPU_PAIR_ATOMICS = CUDA_PAIR_ATOMICS,
    GPU_STREAM_NON_BLOCKING = CUDA_STREAM_NON_BLOCKING,
    GPU_EVENT_NO_TIMING = CUDA_EVENT_NO_TIMING,
    GPU_REGISTER_PORTABLE = CUDA_REGISTER_PORTABLE,
    GPU_IPC_LAZY_PEER = CUDA_IPC_LAZY_PEER,
    GPU_CAPTURE_RELAXED = CUDA_CAPTURE_RELAXED,
    GPU_WAIT_GEQ = CUDA_WAIT_GEQ, /* (signed)(flag - value) >= 0 */
    GPU_WAIT_EQ = CUDA_WAIT_EQ,
    GPU_WAIT_FLUSH = CUDA_WAIT_FLUSH,
};

#endif
