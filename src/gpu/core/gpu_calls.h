/* The driver's calls by names of no vendor, for the folders above src/gpu and for gpubind-bench: a
 * row for each, whose arguments are those of the driver's function in driver_api.h. All return an
 * enum gpu_result; src/gpu/README.md says which of them wait for what. gpu_driver is not NULL. */
#ifndef GPUBIND_GPU_CORE_GPU_CALLS_H
#define GPUBIND_GPU_CORE_GPU_CALLS_H

#include "gpu/core/driver.h"

/* Devices. */
#define gpu_device_count (gpu_driver()->cuDeviceGetCount)
#define gpu_device_get (gpu_driver()->cuDeviceGet)
#define gpu_device_pci (gpu_driver()->cuDeviceGetPCIBusId)
#define gpu_device_attribute (gpu_driver()->cuDeviceGetAttribute)
#define gpu_device_memory (gpu_driver()->cuDeviceTotalMem_v2)
#define gpu_device_reaches (gpu_driver()->cuDeviceCanAccessPeer)
#define gpu_device_pair (gpu_driver()->cuDeviceGetP2PAttribute)

/* NULL where the driver has none. */
#define gpu_device_name (gpu_driver()->cuDeviceGetName)
#define gpu_driver_version (gpu_driver()->cuDriverGetVersion)

#define gpu_error_name (gpu_driver()->cuGetErrorName)

/* The current context; the primary one of a device. */
#define gpu_context_current (gpu_driver()->cuCtxGetCurrent)
#define gpu_context_device (gpu_driver()->cuCtxGetDevice)
#define gpu_context_retain (gpu_driver()->cuDevicePrimaryCtxRetain)
#define gpu_context_push (gpu_driver()->cuCtxPushCurrent_v2)
#define gpu_context_pop (gpu_driver()->cuCtxPopCurrent_v2)
#define gpu_context_enable_peer (gpu_driver()->cuCtxEnablePeerAccess)
#define gpu_context_disable_peer (gpu_driver()->cuCtxDisablePeerAccess)

/* Memory. */
#define gpu_mem_alloc (gpu_driver()->cuMemAlloc_v2)
#define gpu_mem_free (gpu_driver()->cuMemFree_v2)
#define gpu_host_register (gpu_driver()->cuMemHostRegister_v2)
#define gpu_host_unregister (gpu_driver()->cuMemHostUnregister)
#define gpu_ipc_export (gpu_driver()->cuIpcGetMemHandle)
#define gpu_ipc_open (gpu_driver()->cuIpcOpenMemHandle_v2)
#define gpu_ipc_close (gpu_driver()->cuIpcCloseMemHandle)

/* Copies: between any two, from and to the host, within a device, between two devices. */
#define gpu_copy_async (gpu_driver()->cuMemcpyAsync)
#define gpu_upload_async (gpu_driver()->cuMemcpyHtoDAsync_v2)
#define gpu_download_async (gpu_driver()->cuMemcpyDtoHAsync_v2)
#define gpu_copy_device_async (gpu_driver()->cuMemcpyDtoDAsync_v2)
#define gpu_copy_peer_async (gpu_driver()->cuMemcpyPeerAsync)
#define gpu_memset_async (gpu_driver()->cuMemsetD8Async)

/* Streams and events. */
#define gpu_stream_create (gpu_driver()->cuStreamCreate)
#define gpu_stream_destroy (gpu_driver()->cuStreamDestroy_v2)
#define gpu_stream_query (gpu_driver()->cuStreamQuery)
#define gpu_stream_synchronize (gpu_driver()->cuStreamSynchronize)
#define gpu_stream_is_capturing (gpu_driver()->cuStreamIsCapturing)
#define gpu_stream_wait_event (gpu_driver()->cuStreamWaitEvent)
#define gpu_event_create (gpu_driver()->cuEventCreate)
#define gpu_event_destroy (gpu_driver()->cuEventDestroy_v2)
#define gpu_event_record (gpu_driver()->cuEventRecord)
#define gpu_event_query (gpu_driver()->cuEventQuery)
#define gpu_event_elapsed (gpu_driver()->cuEventElapsedTime)

/* Waits of streams for flags in memory, and their writes; see gpu_has_wait32 and the others below. */
#define gpu_stream_wait32 (gpu_driver()->cuStreamWaitValue32_v2)
#define gpu_stream_write32 (gpu_driver()->cuStreamWriteValue32_v2)
#define gpu_stream_wait64 (gpu_driver()->cuStreamWaitValue64_v2)
#define gpu_stream_write64 (gpu_driver()->cuStreamWriteValue64_v2)

/* Kernels. */
#define gpu_module_load (gpu_driver()->cuModuleLoadData)
#define gpu_module_unload (gpu_driver()->cuModuleUnload)
#define gpu_module_function (gpu_driver()->cuModuleGetFunction)
#define gpu_kernel_launch (gpu_driver()->cuLaunchKernel)

/* Graphs, where gpu_has_graphs. */
#define gpu_capture_begin (gpu_driver()->cuStreamBeginCapture_v2)
#define gpu_capture_end (gpu_driver()->cuStreamEndCapture)
#define gpu_graph_instantiate (gpu_driver()->cuGraphInstantiateWithFlags)
#define gpu_graph_launch (gpu_driver()->cuGraphLaunch)
#define gpu_graph_destroy (gpu_driver()->cuGraphDestroy)
#define gpu_graph_exec_destroy (gpu_driver()->cuGraphExecDestroy)

/* What not all drivers have: waits and writes of flags of 32 bits, */
static inline bool gpu_has_wait32(void)
{
    return gpu_stream_wait32 && gpu_stream_write32;
}

/* of 64 bits, */
static inline bool gpu_has_write64(void)
{
    return gpu_stream_write64;
}

static inline bool gpu_has_wait64(void)
{
    return gpu_stream_wait64 && gpu_has_write64();
}

/* several of them at once, */
static inline bool gpu_has_batched_memops(void)
{
    return gpu_driver()->cuStreamBatchMemOp_v2;
}

/* and graphs. */
static inline bool gpu_has_graphs(void)
{
    return gpu_graph_launch && gpu_graph_instantiate;
}

#endif
