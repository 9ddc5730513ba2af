/* Does src/host/discover/nvml_api.h say what nvml.h says? The compiler decides; the program
 * only reports that it was built. */
#include <nvml.h>
#include <stddef.h>
#include <stdio.h>

/* nvml.h gives its functions' newest versions their old names. */
#undef nvmlInit
#undef nvmlDeviceGetCount
#undef nvmlDeviceGetHandleByIndex
#undef nvmlDeviceGetPciInfo
#undef nvmlDeviceGetNvLinkRemotePciInfo

#include "host/discover/nvml_api.h"

#define SAME_PLACE(ours, theirs) \
    _Static_assert(offsetof(struct nvml_pci, ours) == offsetof(nvmlPciInfo_t, theirs), #ours)

_Static_assert(sizeof(struct nvml_pci) == sizeof(nvmlPciInfo_t), "nvml_pci");
SAME_PLACE(bus_id_legacy, busIdLegacy);
SAME_PLACE(domain, domain);
SAME_PLACE(bus, bus);
SAME_PLACE(device, device);
SAME_PLACE(device_id, pciDeviceId);
SAME_PLACE(subsystem_id, pciSubSystemId);
SAME_PLACE(bus_id, busId);
_Static_assert((int)NVML_OK == (int)NVML_SUCCESS, "NVML_OK");
_Static_assert((int)NVML_ENABLED == (int)NVML_FEATURE_ENABLED, "NVML_ENABLED");
_Static_assert((int)NVML_LINK_TO_GPU == (int)NVML_NVLINK_DEVICE_TYPE_GPU, "NVML_LINK_TO_GPU");
_Static_assert((int)NVML_LINK_TO_SWITCH == (int)NVML_NVLINK_DEVICE_TYPE_SWITCH,
               "NVML_LINK_TO_SWITCH");
_Static_assert((int)NVML_PROHIBITED == (int)NVML_COMPUTEMODE_PROHIBITED, "NVML_PROHIBITED");
_Static_assert((int)NVML_NO_DRIVER == (int)NVML_ERROR_DRIVER_NOT_LOADED, "NVML_NO_DRIVER");
_Static_assert((int)NVML_VERSIONS_DIFFER == (int)NVML_ERROR_LIB_RM_VERSION_MISMATCH,
               "NVML_VERSIONS_DIFFER");
_Static_assert((int)NVML_PEER_READ == (int)NVML_P2P_CAPS_INDEX_READ, "NVML_PEER_READ");
_Static_assert((int)NVML_PEER_LINK == (int)NVML_P2P_CAPS_INDEX_NVLINK, "NVML_PEER_LINK");
_Static_assert((int)NVML_UNCORRECTED == (int)NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
               "NVML_UNCORRECTED");
_Static_assert((int)NVML_SINCE_LOAD == (int)NVML_VOLATILE_ECC, "NVML_SINCE_LOAD");
_Static_assert((int)NVML_MAX_LINKS >= (int)NVML_NVLINK_MAX_LINKS, "NVML_MAX_LINKS");
_Static_assert(sizeof(struct nvml_memory) == sizeof(nvmlMemory_t), "nvml_memory");
#if NVML_API_VERSION >= 12 /* before, there was no such call */
_Static_assert(sizeof(struct nvml_fabric) == sizeof(nvmlGpuFabricInfo_t), "nvml_fabric");
_Static_assert(offsetof(struct nvml_fabric, status) == offsetof(nvmlGpuFabricInfo_t, status),
               "status");
_Static_assert(offsetof(struct nvml_fabric, state) == offsetof(nvmlGpuFabricInfo_t, state),
               "state");
#endif
/* Libraries keep what their header advises against. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/* Each call has the arguments of NVML_FUNCTIONS; sizeof evaluates nothing. */
#define CALLS(call) _Static_assert(sizeof(call) == sizeof(int), #call)
#define DEVICE ((nvmlDevice_t)0)
CALLS(nvmlInit_v2());
CALLS(nvmlShutdown());
CALLS(nvmlDeviceGetCount_v2((unsigned *)0));
CALLS(nvmlDeviceGetHandleByIndex_v2(0u, (nvmlDevice_t *)0));
CALLS(nvmlDeviceGetPciInfo_v3(DEVICE, (nvmlPciInfo_t *)0));
CALLS(nvmlDeviceGetUUID(DEVICE, (char *)0, 0u));
CALLS(nvmlDeviceGetName(DEVICE, (char *)0, 0u));
CALLS(nvmlDeviceGetMinorNumber(DEVICE, (unsigned *)0));
CALLS(nvmlDeviceGetComputeMode(DEVICE, (nvmlComputeMode_t *)0));
CALLS(nvmlDeviceGetMigMode(DEVICE, (unsigned *)0, (unsigned *)0));
CALLS(nvmlDeviceGetMaxMigDeviceCount(DEVICE, (unsigned *)0));
CALLS(nvmlDeviceGetMigDeviceHandleByIndex(DEVICE, 0u, (nvmlDevice_t *)0));
CALLS(nvmlDeviceGetNvLinkState(DEVICE, 0u, (nvmlEnableState_t *)0));
CALLS(nvmlDeviceGetNvLinkVersion(DEVICE, 0u, (unsigned *)0));
CALLS(nvmlDeviceGetNvLinkRemoteDeviceType(DEVICE, 0u, (nvmlIntNvLinkDeviceType_t *)0));
CALLS(nvmlDeviceGetNvLinkRemotePciInfo_v2(DEVICE, 0u, (nvmlPciInfo_t *)0));
CALLS(nvmlDeviceGetPersistenceMode(DEVICE, (nvmlEnableState_t *)0));
CALLS(nvmlDeviceGetTotalEccErrors(DEVICE, (nvmlMemoryErrorType_t)0, (nvmlEccCounterType_t)0,
                                  (unsigned long long *)0));
CALLS(nvmlDeviceGetMemoryInfo(DEVICE, (nvmlMemory_t *)0));
#if NVML_API_VERSION >= 13
CALLS(nvmlDeviceGetCurrentClocksEventReasons(DEVICE, (unsigned long long *)0));
#endif
CALLS(nvmlDeviceGetCurrentClocksThrottleReasons(DEVICE, (unsigned long long *)0));
#if NVML_API_VERSION >= 12
CALLS(nvmlDeviceGetGpuFabricInfo(DEVICE, (nvmlGpuFabricInfo_t *)0));
#endif
CALLS(nvmlDeviceGetP2PStatus(DEVICE, DEVICE, (nvmlGpuP2PCapsIndex_t)0, (nvmlGpuP2PStatus_t *)0));

int main(void)
{
    puts("1..1\nok 1 - NVML's entry points are declared as in nvml.h");
    return 0;
}
