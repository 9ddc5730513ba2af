/* The part of the driver API that gpubind calls, declared here because the
 * toolkit's header is not needed to build. Versions are explicit (_v2), as the
 * library exports them. tests/gpu/abi_cuda.c compares it with cuda.h where that is
 * installed. */
#ifndef GPUBIND_GPU_CORE_DRIVER_API_H
#define GPUBIND_GPU_CORE_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

enum cuda_result {
    CUDA_OK = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_DEINITIALIZED = 4,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_HANDLE = 400,
    CUDA_NOT_READY = 600,
    CUDA_ALREADY_MAPPED = 208,
    CUDA_PEER_ALREADY_ENABLED = 704,
    CUDA_PEER_NOT_ENABLED = 705,
    CUDA_ALREADY_REGISTERED = 712,
    CUDA_NOT_SUPPORTED = 801,
    CUDA_CAPTURE_UNSUPPORTED = 900,
    CUDA_CAPTURE_IMPLICIT = 906,
};

enum cuda_pointer_attribute {
    CUDA_POINTER_CONTEXT = 1,
    CUDA_POINTER_SYNC_MEMOPS = 6,
    CUDA_POINTER_MEMORY_TYPE = 2,
    CUDA_POINTER_BUFFER_ID = 7,
    CUDA_POINTER_IS_MANAGED = 8,
    CUDA_POINTER_ORDINAL = 9,
    CUDA_POINTER_IPC_CAPABLE = 10, /* cuIpcGetMemHandle may take it */
    CUDA_POINTER_START = 11,
    CUDA_POINTER_SIZE = 12,
    CUDA_POINTER_HANDLE_TYPES = 14,
};

enum cuda_constant {
    CUDA_MEMORY_HOST = 1,
    CUDA_MEMORY_DEVICE = 2,
    CUDA_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CUDA_ATTRIBUTE_MULTIPROCESSORS = 16,
    CUDA_ATTRIBUTE_COMPUTE_MAJOR = 75,
    CUDA_ATTRIBUTE_MEMORY_CLOCK = 36, /* kHz */
    CUDA_ATTRIBUTE_MEMORY_BUS = 37,   /* bits */
    CUDA_PAIR_RANK = 1,               /* of cuDeviceGetP2PAttribute: 0 is the best, */
    CUDA_PAIR_ATOMICS = 3,
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_CONTEXT_SYNC_MEMOPS = 0x80,
    CUDA_EVENT_NO_TIMING = 2,
    CUDA_REGISTER_PORTABLE = 1,
    CUDA_IPC_LAZY_PEER = 1,
    CUDA_CAPTURE_RELAXED = 2,
    CUDA_COPY_IN_STREAM_ORDER = 1,           /* srcAccessOrder */
    CUDA_ATTRIBUTE_FLUSH_REMOTE_WRITES = 98, /* CUDA_WAIT_FLUSH is possible */
    CUDA_ATTRIBUTE_WORDS_OF_64 = 122,        /* CUDA_OPERATION_WAIT_64 is possible */
    CUDA_ATTRIBUTE_MPS = 133,                /* contexts are shared by MPS */
    CUDA_OPERATION_WAIT = 1,                 /* of cuda_memory_operation, */
    CUDA_OPERATION_WRITE = 2,
    CUDA_OPERATION_WAIT_64 = 4, /* of words of 64 bits */
    CUDA_OPERATION_WRITE_64 = 5,
    CUDA_WAIT_GEQ = 0, /* its flags: (int32_t)(word - value) >= 0, */
    CUDA_WAIT_EQ = 1,
    CUDA_WAIT_FLUSH = 1 << 30,                /* and what peers wrote before is seen behind it */
    CUDA_OPERATIONS_MOST = 255,               /* in a batch */
    CUDA_ATTRIBUTE_VIRTUAL_MEMORY = 102,      /* cuMemCreate and its kin are possible, */
    CUDA_ATTRIBUTE_FILE_DESCRIPTORS = 103,    /* and to export as file descriptors, */
    CUDA_ATTRIBUTE_VIRTUAL_MEMORY_RDMA = 110, /* and network cards may reach it */
    CUDA_PINNED = 1,                          /* the type of cuMemCreate's memory, */
    CUDA_LOCATION_DEVICE = 1,                 /* where it lies, */
    CUDA_FILE_DESCRIPTOR = 1,                 /* how it is exported, */
    CUDA_READ_AND_WRITE = 3,                  /* what a device may do to it, */
    CUDA_GRANULARITY_MINIMUM = 0,             /* and of what its size is a multiple */
};

/* Memory of a device, an address of it: CUdeviceptr. */
typedef unsigned long long cuda_address;

struct cuda_uuid {
    char bytes[16];
};

struct cuda_ipc_handle {
    char bytes[64];
};

struct cuda_copy_attributes {
    int order;
    struct {
        int type, id;
    } from, to;
    unsigned flags;
};

struct cuda_copy_2d { /* CUDA_MEMCPY2D */
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    cuda_address from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    cuda_address to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
};

struct cuda_copy_3d { /* CUDA_MEMCPY3D */
    size_t from_x, from_y, from_z, from_lod;
    int from_type;
    const void *from_host;
    cuda_address from_device;
    void *from_array, *reserved0;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_lod;
    int to_type;
    void *to_host;
    cuda_address to_device;
    void *to_array, *reserved1;
    size_t to_pitch, to_height;
    size_t width, height, depth;
};

struct cuda_memory_operation { /* CUstreamBatchMemOpParams: a wait or a write */
    int operation;
    cuda_address address; /* of a word of 32 bits */
    uint32_t value, high_value;
    unsigned flags;
    cuda_address alias;
    uint64_t unused;
};

struct cuda_location { /* CUmemLocation */
    int type, id;
};

struct cuda_memory_properties { /* CUmemAllocationProp */
    int type, handle_types;
    struct cuda_location location;
    void *metadata;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};

struct cuda_memory_access { /* CUmemAccessDesc */
    struct cuda_location location;
    int flags;
};

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
struct CUgraphEdgeData_st;
struct CUuserObject_st;
struct CUgreenCtx_st;

#define CUDA_LEGACY_STREAM ((struct CUstream_st *)1)
#define CUDA_PER_THREAD_STREAM ((struct CUstream_st *)2)

/* name, arguments; all return an enum cuda_result. The first list is what every
 * driver since CUDA 11.4 has; without one of the second a slower way is taken. */
#define CUDA_FUNCTIONS(X)                                                                    \
    X(cuInit, (unsigned))                                                                    \
    X(cuGetErrorName, (int, const char **))                                                  \
    X(cuDeviceGetCount, (int *))                                                             \
    X(cuDeviceGet, (int *, int))                                                             \
    X(cuDeviceGetUuid_v2, (struct cuda_uuid *, int))                                         \
    X(cuDeviceGetPCIBusId, (char *, int, int))                                               \
    X(cuDeviceGetAttribute, (int *, int, int))                                               \
    X(cuDeviceTotalMem_v2, (size_t *, int))                                                  \
    X(cuDeviceCanAccessPeer, (int *, int, int))                                              \
    X(cuDevicePrimaryCtxRetain, (struct CUctx_st **, int))                                   \
    X(cuDevicePrimaryCtxRelease_v2, (int))                                                   \
    X(cuDevicePrimaryCtxGetState, (int, unsigned *, int *))                                  \
    X(cuCtxGetCurrent, (struct CUctx_st **))                                                 \
    X(cuCtxSynchronize, (void))                                                              \
    X(cuCtxPushCurrent_v2, (struct CUctx_st *))                                              \
    X(cuCtxPopCurrent_v2, (struct CUctx_st **))                                              \
    X(cuCtxGetDevice, (int *))                                                               \
    X(cuCtxEnablePeerAccess, (struct CUctx_st *, unsigned))                                  \
    X(cuStreamCreate, (struct CUstream_st **, unsigned))                                     \
    X(cuStreamCreateWithPriority, (struct CUstream_st **, unsigned, int))                    \
    X(cuCtxGetStreamPriorityRange, (int *, int *))                                           \
    X(cuStreamDestroy_v2, (struct CUstream_st *))                                            \
    X(cuStreamQuery, (struct CUstream_st *))                                                 \
    X(cuStreamSynchronize, (struct CUstream_st *))                                           \
    X(cuStreamWaitEvent, (struct CUstream_st *, struct CUevent_st *, unsigned))              \
    X(cuStreamIsCapturing, (struct CUstream_st *, int *))                                    \
    X(cuStreamGetCtx, (struct CUstream_st *, struct CUctx_st **))                            \
    X(cuThreadExchangeStreamCaptureMode, (int *))                                            \
    X(cuEventCreate, (struct CUevent_st **, unsigned))                                       \
    X(cuEventDestroy_v2, (struct CUevent_st *))                                              \
    X(cuEventRecord, (struct CUevent_st *, struct CUstream_st *))                            \
    X(cuEventQuery, (struct CUevent_st *))                                                   \
    X(cuPointerGetAttributes, (unsigned, int *, void **, cuda_address))                      \
    X(cuMemAlloc_v2, (cuda_address *, size_t))                                               \
    X(cuMemFree_v2, (cuda_address))                                                          \
    X(cuMemHostRegister_v2, (void *, size_t, unsigned))                                      \
    X(cuMemHostUnregister, (void *))                                                         \
    X(cuMemcpyAsync, (cuda_address, cuda_address, size_t, struct CUstream_st *))             \
    X(cuMemcpyDtoDAsync_v2, (cuda_address, cuda_address, size_t, struct CUstream_st *))      \
    X(cuMemcpyDtoHAsync_v2, (void *, cuda_address, size_t, struct CUstream_st *))            \
    X(cuMemcpyHtoDAsync_v2, (cuda_address, const void *, size_t, struct CUstream_st *))      \
    X(cuMemcpy2DAsync_v2, (const struct cuda_copy_2d *, struct CUstream_st *))               \
    X(cuMemcpy3DAsync_v2, (const struct cuda_copy_3d *, struct CUstream_st *))               \
    X(cuMemsetD8Async, (cuda_address, unsigned char, size_t, struct CUstream_st *))          \
    X(cuIpcGetMemHandle, (struct cuda_ipc_handle *, cuda_address))                           \
    X(cuIpcOpenMemHandle_v2, (cuda_address *, struct cuda_ipc_handle, unsigned))             \
    X(cuIpcCloseMemHandle, (cuda_address))                                                   \
    X(cuModuleLoadData, (struct CUmod_st **, const void *))                                  \
    X(cuModuleUnload, (struct CUmod_st *))                                                   \
    X(cuModuleGetFunction, (struct CUfunc_st **, struct CUmod_st *, const char *))           \
    X(cuLaunchKernel, (struct CUfunc_st *, unsigned, unsigned, unsigned, unsigned, unsigned, \
                       unsigned, unsigned, struct CUstream_st *, void **, void **))

#define CUDA_OPTIONAL_FUNCTIONS(X)                                                                \
    X(cuCtxGetId, (struct CUctx_st *, unsigned long long *))                                      \
    X(cuCtxRecordEvent, (struct CUctx_st *, struct CUevent_st *))                                 \
    X(cuStreamGetCtx_v2, (struct CUstream_st *, struct CUctx_st **, struct CUgreenCtx_st **))     \
    X(cuStreamGetCaptureInfo_v3,                                                                  \
      (struct CUstream_st *, int *, unsigned long long *, struct CUgraph_st **,                   \
       struct CUgraphNode_st *const **, const struct CUgraphEdgeData_st **, size_t *))            \
    X(cuUserObjectCreate,                                                                         \
      (struct CUuserObject_st **, void *, void (*)(void *), unsigned, unsigned))                  \
    X(cuUserObjectRelease, (struct CUuserObject_st *, unsigned))                                  \
    X(cuGraphRetainUserObject,                                                                    \
      (struct CUgraph_st *, struct CUuserObject_st *, unsigned, unsigned))                        \
    X(cuMemcpyBatchAsync_v2,                                                                      \
      (cuda_address *, cuda_address *, size_t *, size_t, struct cuda_copy_attributes *, size_t *, \
       size_t, struct CUstream_st *))                                                             \
    X(cuMemAllocAsync, (cuda_address *, size_t, struct CUstream_st *))                            \
    X(cuMemFreeAsync, (cuda_address, struct CUstream_st *))                                       \
    X(cuCtxGetFlags, (unsigned *))                                                                \
    X(cuCtxSetFlags, (unsigned))                                                                  \
    X(cuPointerSetAttribute, (const void *, int, cuda_address))                                   \
    X(cuStreamWaitValue32_v2, (struct CUstream_st *, cuda_address, uint32_t, unsigned))           \
    X(cuStreamWriteValue32_v2, (struct CUstream_st *, cuda_address, uint32_t, unsigned))          \
    X(cuStreamWaitValue64_v2, (struct CUstream_st *, cuda_address, uint64_t, unsigned))           \
    X(cuStreamWriteValue64_v2, (struct CUstream_st *, cuda_address, uint64_t, unsigned))          \
    X(cuStreamBatchMemOp_v2,                                                                      \
      (struct CUstream_st *, unsigned, struct cuda_memory_operation *, unsigned))                 \
    X(cuMemGetAllocationGranularity, (size_t *, const struct cuda_memory_properties *, int))      \
    X(cuMemCreate,                                                                                \
      (unsigned long long *, size_t, const struct cuda_memory_properties *, unsigned long long))  \
    X(cuMemRelease, (unsigned long long))                                                         \
    X(cuMemAddressReserve, (cuda_address *, size_t, size_t, cuda_address, unsigned long long))    \
    X(cuMemAddressFree, (cuda_address, size_t))                                                   \
    X(cuMemMap, (cuda_address, size_t, size_t, unsigned long long, unsigned long long))           \
    X(cuMemUnmap, (cuda_address, size_t))                                                         \
    X(cuMemSetAccess, (cuda_address, size_t, const struct cuda_memory_access *, size_t))          \
    X(cuMemExportToShareableHandle, (void *, unsigned long long, int, unsigned long long))        \
    X(cuMemImportFromShareableHandle, (unsigned long long *, void *, int))

/* What gpubind-bench calls beside these; every driver since CUDA 11.4 has them. */
#define CUDA_MEASURE_FUNCTIONS(X)                                                           \
    X(cuDeviceGetP2PAttribute, (int *, int, int, int))                                      \
    X(cuCtxDisablePeerAccess, (struct CUctx_st *))                                          \
    X(cuEventElapsedTime, (float *, struct CUevent_st *, struct CUevent_st *))              \
    X(cuMemcpyPeerAsync, (cuda_address, struct CUctx_st *, cuda_address, struct CUctx_st *, \
                          size_t, struct CUstream_st *))

/* The same, where the driver has them. */
#define CUDA_OPTIONAL_MEASURE_FUNCTIONS(X)                                 \
    X(cuDeviceGetName, (char *, int, int))                                 \
    X(cuDriverGetVersion, (int *))                                         \
    X(cuStreamBeginCapture_v2, (struct CUstream_st *, int))                \
    X(cuStreamEndCapture, (struct CUstream_st *, struct CUgraph_st **))    \
    X(cuGraphInstantiateWithFlags,                                         \
      (struct CUgraphExec_st **, struct CUgraph_st *, unsigned long long)) \
    X(cuGraphLaunch, (struct CUgraphExec_st *, struct CUstream_st *))      \
    X(cuGraphExecDestroy, (struct CUgraphExec_st *))                       \
    X(cuGraphDestroy, (struct CUgraph_st *))

#endif
