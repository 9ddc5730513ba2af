/* The driver's calls by names of no vendor, for the folders above src/gpu. All return an enum
 * gpu_result; src/gpu/README.md says which of them wait for what. gpu_driver is not NULL. */
#ifndef GPUBIND_GPU_CORE_GPU_CALLS_H
#define GPUBIND_GPU_CORE_GPU_CALLS_H

#include "gpu/core/gpu_context.h"

static inline int gpu_device_count(int *n)
{
    return gpu_driver()->cuDeviceGetCount(n);
}

static inline int gpu_device_pci(char *pci, int size, int device)
{
    return gpu_driver()->cuDeviceGetPCIBusId(pci, size, device);
}

static inline int gpu_context_current(gpu_context *context)
{
    return gpu_driver()->cuCtxGetCurrent(context);
}

/* Of the current context. */
static inline int gpu_context_device(int *device)
{
    return gpu_driver()->cuCtxGetDevice(device);
}

static inline int gpu_mem_alloc(gpu_address *at, size_t nbytes)
{
    return gpu_driver()->cuMemAlloc_v2(at, nbytes);
}

static inline int gpu_host_register(void *at, size_t nbytes, unsigned flags)
{
    return gpu_driver()->cuMemHostRegister_v2(at, nbytes, flags);
}

static inline int gpu_host_unregister(void *at)
{
    return gpu_driver()->cuMemHostUnregister(at);
}

static inline int gpu_memset_async(gpu_address at, unsigned char value, size_t nbytes,
                                   gpu_stream stream)
{
    return gpu_driver()->cuMemsetD8Async(at, value, nbytes, stream);
}

static inline int gpu_upload_async(gpu_address to, const void *from, size_t nbytes,
                                   gpu_stream stream)
{
    return gpu_driver()->cuMemcpyHtoDAsync_v2(to, from, nbytes, stream);
}

static inline int gpu_copy_async(gpu_address to, gpu_address from, size_t nbytes, gpu_stream stream)
{
    return gpu_driver()->cuMemcpyAsync(to, from, nbytes, stream);
}

static inline int gpu_stream_create(gpu_stream *stream, unsigned flags)
{
    return gpu_driver()->cuStreamCreate(stream, flags);
}

static inline int gpu_stream_destroy(gpu_stream stream)
{
    return gpu_driver()->cuStreamDestroy_v2(stream);
}

static inline int gpu_stream_synchronize(gpu_stream stream)
{
    return gpu_driver()->cuStreamSynchronize(stream);
}

static inline int gpu_stream_is_capturing(gpu_stream stream, int *capturing)
{
    return gpu_driver()->cuStreamIsCapturing(stream, capturing);
}

static inline int gpu_stream_context(gpu_stream stream, gpu_context *context)
{
    return gpu_driver()->cuStreamGetCtx(stream, context);
}

static inline int gpu_event_create(gpu_event *event, unsigned flags)
{
    return gpu_driver()->cuEventCreate(event, flags);
}

static inline int gpu_event_destroy(gpu_event event)
{
    return gpu_driver()->cuEventDestroy_v2(event);
}

static inline int gpu_event_record(gpu_event event, gpu_stream stream)
{
    return gpu_driver()->cuEventRecord(event, stream);
}

static inline int gpu_event_query(gpu_event event)
{
    return gpu_driver()->cuEventQuery(event);
}

/* Streams can wait for flags of 32 bits and write them, */
static inline bool gpu_has_wait32(void)
{
    return gpu_driver()->cuStreamWaitValue32_v2 && gpu_driver()->cuStreamWriteValue32_v2;
}

static inline int gpu_stream_wait32(gpu_stream stream, gpu_address flag, uint32_t value,
                                    unsigned flags)
{
    return gpu_driver()->cuStreamWaitValue32_v2(stream, flag, value, flags);
}

static inline int gpu_stream_write32(gpu_stream stream, gpu_address flag, uint32_t value,
                                     unsigned flags)
{
    return gpu_driver()->cuStreamWriteValue32_v2(stream, flag, value, flags);
}

/* of 64 bits, */
static inline bool gpu_has_write64(void)
{
    return gpu_driver()->cuStreamWriteValue64_v2;
}

static inline bool gpu_has_wait64(void)
{
    return gpu_driver()->cuStreamWaitValue64_v2 && gpu_has_write64();
}

static inline int gpu_stream_wait64(gpu_stream stream, gpu_address flag, uint64_t value,
                                    unsigned flags)
{
    return gpu_driver()->cuStreamWaitValue64_v2(stream, flag, value, flags);
}

static inline int gpu_stream_write64(gpu_stream stream, gpu_address flag, uint64_t value,
                                     unsigned flags)
{
    return gpu_driver()->cuStreamWriteValue64_v2(stream, flag, value, flags);
}

/* and several of them at once. */
static inline bool gpu_has_batched_memops(void)
{
    return gpu_driver()->cuStreamBatchMemOp_v2;
}

#endif
