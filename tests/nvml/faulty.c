/* A pretended NVML, found as libnvidia-ml.so.1: two GPUs without peer access. What goes
 * wrong with it NVML_FAULT says. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/discover/nvml_api.h"

#define SHOWN __attribute__((visibility("default")))
#define DECLARE(name, arguments) SHOWN int name arguments;
NVML_FUNCTIONS(DECLARE)

struct nvml_device {
    unsigned number;
};
static struct nvml_device gpus[2] = {{0}, {1}};

static int is(const char *what)
{
    const char *fault = getenv("NVML_FAULT");

    return fault && strcmp(fault, what) == 0;
}

int nvmlInit_v2(void)
{
    if (is("hangs"))
        for (;;)
            pause();
    if (is("dies"))
        raise(SIGKILL);
    return is("mismatch") ? NVML_VERSIONS_DIFFER : is("unloaded") ? NVML_NO_DRIVER : NVML_OK;
}

int nvmlShutdown(void)
{
    return NVML_OK;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = is("lists none") ? 0 : 2;
    return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    *device = &gpus[index];
    return NVML_OK;
}

int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci)
{
    pci->domain = 0;
    pci->bus = 0x10 + device->number;
    pci->device = 0;
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%X:00.0", pci->bus);
    return NVML_OK;
}

int nvmlDeviceGetUUID(nvml_device device, char *uuid, unsigned size)
{
    snprintf(uuid, size, "GPU-sim-%u", device->number);
    return NVML_OK;
}

int nvmlDeviceGetName(nvml_device device, char *name, unsigned size)
{
    (void)device;
    snprintf(name, size, "Simulated GPU");
    return NVML_OK;
}

int nvmlDeviceGetMinorNumber(nvml_device device, unsigned *minor)
{
    *minor = device->number;
    return NVML_OK;
}

int nvmlDeviceGetMigMode(nvml_device device, unsigned *now, unsigned *pending)
{
    *now = *pending = device->number == 1 ? NVML_ENABLED : 0;
    return NVML_OK;
}

int nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *count)
{
    (void)device;
    *count = 0;
    return NVML_OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index, nvml_device *instance)
{
    (void)device;
    (void)index;
    (void)instance;
    return 6; /* NVML_ERROR_NOT_FOUND */
}

int nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, int *active)
{
    *active = link < 4;
    return device->number == 0 ? 3 : link < 6 ? NVML_OK : 2;
}

int nvmlDeviceGetNvLinkVersion(nvml_device device, unsigned link, unsigned *version)
{
    (void)device;
    (void)link;
    *version = 0;
    return NVML_OK;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned link, int *type)
{
    (void)device;
    (void)link;
    *type = NVML_LINK_TO_GPU;
    return NVML_OK;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned link, struct nvml_pci *pci)
{
    (void)device;
    (void)link;
    (void)pci;
    return 6;
}

int nvmlDeviceGetPersistenceMode(nvml_device device, int *mode)
{
    *mode = device->number == 0 ? NVML_ENABLED : 0;
    return NVML_OK;
}

int nvmlDeviceGetComputeMode(nvml_device device, int *mode)
{
    *mode = device->number == 0 ? 0 : 3;
    return NVML_OK;
}

int nvmlDeviceGetTotalEccErrors(nvml_device device, int type, int counter,
                                unsigned long long *count)
{
    (void)counter;
    *count = type == NVML_UNCORRECTED && device->number == 0 ? 5 : 0;
    return device->number == 0 ? NVML_OK : 3; /* NVML_ERROR_NOT_SUPPORTED */
}

int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
    memory->total = (80ULL + device->number) << 30;
    memory->free = memory->used = 0;
    return NVML_OK;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *reasons)
{
    (void)device;
    *reasons = 0;
    return 3;
}

int nvmlDeviceGetCurrentClocksEventReasons(nvml_device device, unsigned long long *reasons)
{
    *reasons = 0x48;
    return device->number == 1 ? NVML_OK : 3;
}

int nvmlDeviceGetGpuFabricInfo(nvml_device device, struct nvml_fabric *fabric)
{
    fabric->state = device->number == 0 ? 1 : 3;
    fabric->status = device->number == 0 ? 0 : 999;
    return NVML_OK;
}

int nvmlDeviceGetP2PStatus(nvml_device a, nvml_device b, int what, int *status)
{
    if (a == b)
        return 2; /* NVML_ERROR_INVALID_ARGUMENT */
    *status = what == NVML_PEER_READ ? 1 : 5;
    return NVML_OK;
}
