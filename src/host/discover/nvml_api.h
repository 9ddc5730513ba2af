/* The part of NVML's interface that gpubind calls, declared here because the
 * toolkit's header is not needed to build. tests/host/abi_nvml.c compares it with
 * nvml.h where that is installed. */
#ifndef GPUBIND_HOST_DISCOVER_NVML_API_H
#define GPUBIND_HOST_DISCOVER_NVML_API_H

typedef struct nvml_device *nvml_device;

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned device_id, subsystem_id;
    char bus_id[32];
};

enum {
    NVML_OK = 0,
    NVML_ENABLED = 1,
    NVML_LINK_TO_GPU = 0,
    NVML_LINK_TO_SWITCH = 2,
    NVML_PROHIBITED = 2
};
/* Statuses, and what to ask of a pair of GPUs and of a GPU's memory. */
enum { NVML_NO_DRIVER = 9, NVML_VERSIONS_DIFFER = 18 };
enum { NVML_PEER_READ = 0, NVML_PEER_LINK = 2 };
enum { NVML_UNCORRECTED = 1, NVML_SINCE_LOAD = 0 };
enum { NVML_MAX_LINKS = 36 };

struct nvml_memory {
    unsigned long long total, free, used;
};

/* Whether a GPU has joined the NVLink fabric. */
struct nvml_fabric {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state; /* 0 not supported, 1 not started, 2 in progress, 3 completed */
};

/* name, arguments; all return 0 on success */
#define NVML_FUNCTIONS(X)                                                              \
    X(nvmlInit_v2, (void))                                                             \
    X(nvmlShutdown, (void))                                                            \
    X(nvmlDeviceGetCount_v2, (unsigned *))                                             \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, nvml_device *))                        \
    X(nvmlDeviceGetPciInfo_v3, (nvml_device, struct nvml_pci *))                       \
    X(nvmlDeviceGetUUID, (nvml_device, char *, unsigned))                              \
    X(nvmlDeviceGetName, (nvml_device, char *, unsigned))                              \
    X(nvmlDeviceGetMinorNumber, (nvml_device, unsigned *))                             \
    X(nvmlDeviceGetComputeMode, (nvml_device, int *))                                  \
    X(nvmlDeviceGetMigMode, (nvml_device, unsigned *, unsigned *))                     \
    X(nvmlDeviceGetMaxMigDeviceCount, (nvml_device, unsigned *))                       \
    X(nvmlDeviceGetMigDeviceHandleByIndex, (nvml_device, unsigned, nvml_device *))     \
    X(nvmlDeviceGetNvLinkState, (nvml_device, unsigned, int *))                        \
    X(nvmlDeviceGetNvLinkVersion, (nvml_device, unsigned, unsigned *))                 \
    X(nvmlDeviceGetNvLinkRemoteDeviceType, (nvml_device, unsigned, int *))             \
    X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (nvml_device, unsigned, struct nvml_pci *)) \
    X(nvmlDeviceGetPersistenceMode, (nvml_device, int *))                              \
    X(nvmlDeviceGetTotalEccErrors, (nvml_device, int, int, unsigned long long *))      \
    X(nvmlDeviceGetP2PStatus, (nvml_device, nvml_device, int, int *))                  \
    X(nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *))                    \
    X(nvmlDeviceGetCurrentClocksEventReasons, (nvml_device, unsigned long long *))     \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_device, unsigned long long *))  \
    X(nvmlDeviceGetGpuFabricInfo, (nvml_device, struct nvml_fabric *))

struct nvml_api {
    void *object; /* what dlopen gave */
#define X(name, arguments) int(*name) arguments;
    NVML_FUNCTIONS(X)
#undef X
};

#endif
