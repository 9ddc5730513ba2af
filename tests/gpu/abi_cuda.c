/* Does src/gpu/core/driver_api.h say what cuda.h says? The compiler decides; the program
 * only reports that it was built. */
#include <cuda.h>
#include <stddef.h>
#include <stdio.h>

#include "tests/sim/sim_api.h"

/* cuda.h has it under the name without _ptds, where that is asked for. */
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void *from, size_t nbytes);

#define SAME(name, ours, theirs) \
    _Static_assert((long long)(ours) == (long long)(theirs), name " is " #theirs)

SAME("CUDA_OK", CUDA_OK, CUDA_SUCCESS);
SAME("CUDA_INVALID_VALUE", CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME("CUDA_OUT_OF_MEMORY", CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME("CUDA_DEINITIALIZED", CUDA_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME("CUDA_NO_DEVICE", CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME("CUDA_INVALID_HANDLE", CUDA_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME("CUDA_NOT_READY", CUDA_NOT_READY, CUDA_ERROR_NOT_READY);
SAME("CUDA_PEER_ALREADY_ENABLED", CUDA_PEER_ALREADY_ENABLED,
     CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME("CUDA_ALREADY_MAPPED", CUDA_ALREADY_MAPPED, CUDA_ERROR_ALREADY_MAPPED);
SAME("CUDA_PEER_NOT_ENABLED", CUDA_PEER_NOT_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
SAME("CUDA_ALREADY_REGISTERED", CUDA_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME("CUDA_NOT_SUPPORTED", CUDA_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME("CUDA_CAPTURE_UNSUPPORTED", CUDA_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME("CUDA_CAPTURE_IMPLICIT", CUDA_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);

SAME("CUDA_POINTER_CONTEXT", CUDA_POINTER_CONTEXT, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME("CUDA_POINTER_SYNC_MEMOPS", CUDA_POINTER_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
SAME("CUDA_CONTEXT_SYNC_MEMOPS", CUDA_CONTEXT_SYNC_MEMOPS, CU_CTX_SYNC_MEMOPS);
SAME("CUDA_POINTER_MEMORY_TYPE", CUDA_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME("CUDA_POINTER_BUFFER_ID", CUDA_POINTER_BUFFER_ID, CU_POINTER_ATTRIBUTE_BUFFER_ID);
SAME("CUDA_POINTER_IS_MANAGED", CUDA_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME("CUDA_POINTER_ORDINAL", CUDA_POINTER_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME("CUDA_POINTER_IPC_CAPABLE", CUDA_POINTER_IPC_CAPABLE,
     CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
SAME("CUDA_POINTER_START", CUDA_POINTER_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME("CUDA_POINTER_SIZE", CUDA_POINTER_SIZE, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME("CUDA_POINTER_HANDLE_TYPES", CUDA_POINTER_HANDLE_TYPES,
     CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);

SAME("CUDA_MEMORY_HOST", CUDA_MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME("CUDA_MEMORY_DEVICE", CUDA_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME("CUDA_ATTRIBUTE_UNIFIED_ADDRESSING", CUDA_ATTRIBUTE_UNIFIED_ADDRESSING,
     CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME("CUDA_ATTRIBUTE_MULTIPROCESSORS", CUDA_ATTRIBUTE_MULTIPROCESSORS,
     CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME("CUDA_ATTRIBUTE_MEMORY_CLOCK", CUDA_ATTRIBUTE_MEMORY_CLOCK,
     CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME("CUDA_ATTRIBUTE_MEMORY_BUS", CUDA_ATTRIBUTE_MEMORY_BUS,
     CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME("CUDA_PAIR_RANK", CUDA_PAIR_RANK, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
SAME("CUDA_PAIR_ATOMICS", CUDA_PAIR_ATOMICS, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
SAME("CUDA_ATTRIBUTE_COMPUTE_MAJOR", CUDA_ATTRIBUTE_COMPUTE_MAJOR,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME("CUDA_STREAM_NON_BLOCKING", CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME("CUDA_EVENT_NO_TIMING", CUDA_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
SAME("CUDA_REGISTER_PORTABLE", CUDA_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME("CUDA_IPC_LAZY_PEER", CUDA_IPC_LAZY_PEER, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
SAME("CUDA_ATTRIBUTE_FLUSH_REMOTE_WRITES", CUDA_ATTRIBUTE_FLUSH_REMOTE_WRITES,
     CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES);
#if CUDA_VERSION >= 12000
SAME("CUDA_ATTRIBUTE_WORDS_OF_64", CUDA_ATTRIBUTE_WORDS_OF_64,
     CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
#endif
SAME("CUDA_OPERATION_WAIT", CUDA_OPERATION_WAIT, CU_STREAM_MEM_OP_WAIT_VALUE_32);
SAME("CUDA_OPERATION_WRITE", CUDA_OPERATION_WRITE, CU_STREAM_MEM_OP_WRITE_VALUE_32);
SAME("CUDA_OPERATION_WAIT_64", CUDA_OPERATION_WAIT_64, CU_STREAM_MEM_OP_WAIT_VALUE_64);
SAME("CUDA_OPERATION_WRITE_64", CUDA_OPERATION_WRITE_64, CU_STREAM_MEM_OP_WRITE_VALUE_64);
SAME("CUDA_WAIT_GEQ", CUDA_WAIT_GEQ, CU_STREAM_WAIT_VALUE_GEQ);
SAME("CUDA_WAIT_EQ", CUDA_WAIT_EQ, CU_STREAM_WAIT_VALUE_EQ);
SAME("CUDA_WAIT_FLUSH", CUDA_WAIT_FLUSH, CU_STREAM_WAIT_VALUE_FLUSH);
SAME("CUDA_CAPTURE_RELAXED", CUDA_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME("CUDA_ATTRIBUTE_VIRTUAL_MEMORY", CUDA_ATTRIBUTE_VIRTUAL_MEMORY,
     CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED);
SAME("CUDA_ATTRIBUTE_FILE_DESCRIPTORS", CUDA_ATTRIBUTE_FILE_DESCRIPTORS,
     CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME("CUDA_ATTRIBUTE_VIRTUAL_MEMORY_RDMA", CUDA_ATTRIBUTE_VIRTUAL_MEMORY_RDMA,
     CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
SAME("CUDA_PINNED", CUDA_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME("CUDA_LOCATION_DEVICE", CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME("CUDA_FILE_DESCRIPTOR", CUDA_FILE_DESCRIPTOR, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME("CUDA_READ_AND_WRITE", CUDA_READ_AND_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME("CUDA_GRANULARITY_MINIMUM", CUDA_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
#if CUDA_VERSION >= 12080
SAME("CUDA_COPY_IN_STREAM_ORDER", CUDA_COPY_IN_STREAM_ORDER, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
#endif

#define SIZE(ours, theirs) SAME(#ours, sizeof(ours), sizeof(theirs))
#define PLACE(ours, our_member, theirs, their_member)                                        \
    SAME(#ours "." #our_member, offsetof(ours, our_member), offsetof(theirs, their_member)); \
    SAME(#ours "." #our_member, sizeof(((ours *)0)->our_member),                             \
         sizeof(((theirs *)0)->their_member))

SIZE(cuda_address, CUdeviceptr);
SIZE(int, CUdevice);
SIZE(int, CUresult);
SIZE(struct cuda_uuid, CUuuid);
SIZE(struct cuda_ipc_handle, CUipcMemHandle);

#if CUDA_VERSION >= 12080
SIZE(struct cuda_copy_attributes, CUmemcpyAttributes);
PLACE(struct cuda_copy_attributes, order, CUmemcpyAttributes, srcAccessOrder);
PLACE(struct cuda_copy_attributes, from, CUmemcpyAttributes, srcLocHint);
PLACE(struct cuda_copy_attributes, from.type, CUmemcpyAttributes, srcLocHint.type);
PLACE(struct cuda_copy_attributes, from.id, CUmemcpyAttributes, srcLocHint.id);
PLACE(struct cuda_copy_attributes, to, CUmemcpyAttributes, dstLocHint);
PLACE(struct cuda_copy_attributes, flags, CUmemcpyAttributes, flags);
#endif

SIZE(struct cuda_copy_2d, CUDA_MEMCPY2D);
PLACE(struct cuda_copy_2d, from_x, CUDA_MEMCPY2D, srcXInBytes);
PLACE(struct cuda_copy_2d, from_y, CUDA_MEMCPY2D, srcY);
PLACE(struct cuda_copy_2d, from_type, CUDA_MEMCPY2D, srcMemoryType);
PLACE(struct cuda_copy_2d, from_host, CUDA_MEMCPY2D, srcHost);
PLACE(struct cuda_copy_2d, from_device, CUDA_MEMCPY2D, srcDevice);
PLACE(struct cuda_copy_2d, from_array, CUDA_MEMCPY2D, srcArray);
PLACE(struct cuda_copy_2d, from_pitch, CUDA_MEMCPY2D, srcPitch);
PLACE(struct cuda_copy_2d, to_x, CUDA_MEMCPY2D, dstXInBytes);
PLACE(struct cuda_copy_2d, to_y, CUDA_MEMCPY2D, dstY);
PLACE(struct cuda_copy_2d, to_type, CUDA_MEMCPY2D, dstMemoryType);
PLACE(struct cuda_copy_2d, to_host, CUDA_MEMCPY2D, dstHost);
PLACE(struct cuda_copy_2d, to_device, CUDA_MEMCPY2D, dstDevice);
PLACE(struct cuda_copy_2d, to_array, CUDA_MEMCPY2D, dstArray);
PLACE(struct cuda_copy_2d, to_pitch, CUDA_MEMCPY2D, dstPitch);
PLACE(struct cuda_copy_2d, width, CUDA_MEMCPY2D, WidthInBytes);
PLACE(struct cuda_copy_2d, height, CUDA_MEMCPY2D, Height);

SIZE(struct cuda_copy_3d, CUDA_MEMCPY3D);
PLACE(struct cuda_copy_3d, from_x, CUDA_MEMCPY3D, srcXInBytes);
PLACE(struct cuda_copy_3d, from_y, CUDA_MEMCPY3D, srcY);
PLACE(struct cuda_copy_3d, from_z, CUDA_MEMCPY3D, srcZ);
PLACE(struct cuda_copy_3d, from_lod, CUDA_MEMCPY3D, srcLOD);
PLACE(struct cuda_copy_3d, from_type, CUDA_MEMCPY3D, srcMemoryType);
PLACE(struct cuda_copy_3d, from_host, CUDA_MEMCPY3D, srcHost);
PLACE(struct cuda_copy_3d, from_device, CUDA_MEMCPY3D, srcDevice);
PLACE(struct cuda_copy_3d, from_array, CUDA_MEMCPY3D, srcArray);
PLACE(struct cuda_copy_3d, reserved0, CUDA_MEMCPY3D, reserved0);
PLACE(struct cuda_copy_3d, from_pitch, CUDA_MEMCPY3D, srcPitch);
PLACE(struct cuda_copy_3d, from_height, CUDA_MEMCPY3D, srcHeight);
PLACE(struct cuda_copy_3d, to_x, CUDA_MEMCPY3D, dstXInBytes);
PLACE(struct cuda_copy_3d, to_y, CUDA_MEMCPY3D, dstY);
PLACE(struct cuda_copy_3d, to_z, CUDA_MEMCPY3D, dstZ);
PLACE(struct cuda_copy_3d, to_lod, CUDA_MEMCPY3D, dstLOD);
PLACE(struct cuda_copy_3d, to_type, CUDA_MEMCPY3D, dstMemoryType);
PLACE(struct cuda_copy_3d, to_host, CUDA_MEMCPY3D, dstHost);
PLACE(struct cuda_copy_3d, to_device, CUDA_MEMCPY3D, dstDevice);
PLACE(struct cuda_copy_3d, to_array, CUDA_MEMCPY3D, dstArray);
PLACE(struct cuda_copy_3d, reserved1, CUDA_MEMCPY3D, reserved1);
PLACE(struct cuda_copy_3d, to_pitch, CUDA_MEMCPY3D, dstPitch);
PLACE(struct cuda_copy_3d, to_height, CUDA_MEMCPY3D, dstHeight);
PLACE(struct cuda_copy_3d, width, CUDA_MEMCPY3D, WidthInBytes);
PLACE(struct cuda_copy_3d, height, CUDA_MEMCPY3D, Height);
PLACE(struct cuda_copy_3d, depth, CUDA_MEMCPY3D, Depth);

SIZE(struct cuda_memory_operation, CUstreamBatchMemOpParams);
PLACE(struct cuda_memory_operation, operation, CUstreamBatchMemOpParams, operation);
PLACE(struct cuda_memory_operation, address, CUstreamBatchMemOpParams, waitValue.address);
PLACE(struct cuda_memory_operation, address, CUstreamBatchMemOpParams, writeValue.address);
PLACE(struct cuda_memory_operation, value, CUstreamBatchMemOpParams, waitValue.value);
PLACE(struct cuda_memory_operation, value, CUstreamBatchMemOpParams, writeValue.value);
PLACE(struct cuda_memory_operation, flags, CUstreamBatchMemOpParams, waitValue.flags);
PLACE(struct cuda_memory_operation, flags, CUstreamBatchMemOpParams, writeValue.flags);
PLACE(struct cuda_memory_operation, alias, CUstreamBatchMemOpParams, waitValue.alias);

SIZE(struct cuda_location, CUmemLocation);
PLACE(struct cuda_location, type, CUmemLocation, type);
PLACE(struct cuda_location, id, CUmemLocation, id);
SIZE(struct cuda_memory_properties, CUmemAllocationProp);
PLACE(struct cuda_memory_properties, type, CUmemAllocationProp, type);
PLACE(struct cuda_memory_properties, handle_types, CUmemAllocationProp, requestedHandleTypes);
PLACE(struct cuda_memory_properties, location, CUmemAllocationProp, location);
PLACE(struct cuda_memory_properties, metadata, CUmemAllocationProp, win32HandleMetaData);
PLACE(struct cuda_memory_properties, compression, CUmemAllocationProp, allocFlags.compressionType);
PLACE(struct cuda_memory_properties, rdma, CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
PLACE(struct cuda_memory_properties, usage, CUmemAllocationProp, allocFlags.usage);
SIZE(struct cuda_memory_access, CUmemAccessDesc);
PLACE(struct cuda_memory_access, location, CUmemAccessDesc, location);
PLACE(struct cuda_memory_access, flags, CUmemAccessDesc, flags);

/* ---- functions: the whole type of each, as cuda.h declares it. */

#define FUNCTION(name, arguments)                                                            \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&(name)), CUresult(*) arguments), \
                   #name " has the arguments " #arguments);

/* Our structures, compared above, are theirs from here on. */
#define cuda_uuid CUuuid_st
#define cuda_ipc_handle CUipcMemHandle_st
#define cuda_copy_attributes CUmemcpyAttributes_st
#define cuda_copy_2d CUDA_MEMCPY2D_st
#define cuda_copy_3d CUDA_MEMCPY3D_st
#define cuda_memory_properties CUmemAllocationProp_st
#define cuda_memory_access CUmemAccessDesc_st

/* Where cuda.h has an enumeration, the tables have int: what cuda.h says, what the table
 * is to say, and from then on the table's entry is compared with the latter. */
FUNCTION(cuGetErrorName, (CUresult, const char **))
CUresult int_GetErrorName(int, const char **);
#define cuGetErrorName int_GetErrorName

FUNCTION(cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice))
CUresult int_DeviceGetAttribute(int *, int, int);
#define cuDeviceGetAttribute int_DeviceGetAttribute

FUNCTION(cuDeviceGetP2PAttribute, (int *, CUdevice_P2PAttribute, CUdevice, CUdevice))
CUresult int_DeviceGetP2PAttribute(int *, int, int, int);
#define cuDeviceGetP2PAttribute int_DeviceGetP2PAttribute

FUNCTION(cuPointerGetAttributes, (unsigned, CUpointer_attribute *, void **, CUdeviceptr))
CUresult int_PointerGetAttributes(unsigned, int *, void **, CUdeviceptr);
#define cuPointerGetAttributes int_PointerGetAttributes

FUNCTION(cuPointerSetAttribute, (const void *, CUpointer_attribute, CUdeviceptr))
CUresult int_PointerSetAttribute(const void *, int, CUdeviceptr);
#define cuPointerSetAttribute int_PointerSetAttribute

FUNCTION(cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus *))
CUresult int_StreamIsCapturing(CUstream, int *);
#undef cuStreamIsCapturing
#define cuStreamIsCapturing int_StreamIsCapturing

FUNCTION(cuStreamGetCaptureInfo_v3, (CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                                     const CUgraphNode **, const CUgraphEdgeData **, size_t *))
CUresult int_StreamGetCaptureInfo(CUstream, int *, unsigned long long *, CUgraph *,
                                  const CUgraphNode **, const CUgraphEdgeData **, size_t *);
#define cuStreamGetCaptureInfo_v3 int_StreamGetCaptureInfo

FUNCTION(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *))
CUresult int_ThreadExchangeStreamCaptureMode(int *);
#define cuThreadExchangeStreamCaptureMode int_ThreadExchangeStreamCaptureMode

FUNCTION(cuDeviceGetDevResource, (CUdevice, CUdevResource *, CUdevResourceType))
CUresult int_DeviceGetDevResource(int, struct CUdevResource_st *, int);
#define cuDeviceGetDevResource int_DeviceGetDevResource

FUNCTION(cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int))
CUresult int_FuncSetAttribute(CUfunction, int, int);
#define cuFuncSetAttribute int_FuncSetAttribute

FUNCTION(cuStreamBeginCapture_v2, (CUstream, CUstreamCaptureMode))
CUresult int_StreamBeginCapture(CUstream, int);
#define cuStreamBeginCapture_v2 int_StreamBeginCapture

FUNCTION(cuMemGetAllocationGranularity,
         (size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags))
CUresult int_GetAllocationGranularity(size_t *, const CUmemAllocationProp *, int);
#define cuMemGetAllocationGranularity int_GetAllocationGranularity

FUNCTION(cuMemExportToShareableHandle,
         (void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long))
CUresult int_ExportToShareableHandle(void *, unsigned long long, int, unsigned long long);
#define cuMemExportToShareableHandle int_ExportToShareableHandle

FUNCTION(cuMemImportFromShareableHandle,
         (CUmemGenericAllocationHandle *, void *, CUmemAllocationHandleType))
CUresult int_ImportFromShareableHandle(unsigned long long *, void *, int);
#define cuMemImportFromShareableHandle int_ImportFromShareableHandle

#if CUDA_VERSION >= 13000
FUNCTION(cuStreamBatchMemOp_v2, (CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned))
CUresult int_StreamBatchMemOp(CUstream, unsigned, struct cuda_memory_operation *, unsigned);
#define cuStreamBatchMemOp_v2 int_StreamBatchMemOp
#endif

/* The library has it, newer headers declare only what followed it. */
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);

CUDA_FUNCTIONS(FUNCTION)
SIM_DRIVER_FUNCTIONS(FUNCTION)
CUDA_OPTIONAL_MEASURE_FUNCTIONS(FUNCTION)
#if CUDA_VERSION >= 13000
CUDA_OPTIONAL_FUNCTIONS(FUNCTION)
#endif

int main(void)
{
    puts("1..1\nok 1 - the driver's entry points are declared as in cuda.h");
    return 0;
}
