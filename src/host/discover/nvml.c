/* NVML, opened at run time. */
#include "host/discover/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/discover/nvml_api.h"
#include "host/sys/process.h"
#include "host/sys/subprocess.h"

/* Functions that an old library lacks stay NULL; those of 2018 must be there. */
int nvml_open(struct nvml_api *api)
{
    int status = -1;

    memset(api, 0, sizeof *api);
    api->object = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!api->object)
        return -1;
/* POSIX lets dlsym's result stand for a function. */
#define X(name, arguments) *(void **)&api->name = dlsym(api->object, #name);
    NVML_FUNCTIONS(X)
#undef X
    if (api->nvmlInit_v2 && api->nvmlShutdown && api->nvmlDeviceGetCount_v2 &&
        api->nvmlDeviceGetHandleByIndex_v2 && api->nvmlDeviceGetPciInfo_v3 &&
        api->nvmlDeviceGetUUID)
        status = api->nvmlInit_v2();
    if (status != NVML_OK)
        dlclose(api->object);
    return status;
}

void nvml_close(struct nvml_api *api)
{
    api->nvmlShutdown();
    dlclose(api->object);
}

static void pci_text(const struct nvml_pci *pci, char text[24])
{
    unsigned function = 0;
    const char *dot = strrchr(pci->bus_id, '.');

    if (dot)
        sscanf(dot + 1, "%x", &function);
    snprintf(text, 24, "%04x:%02x:%02x.%x", pci->domain, pci->bus & 0xff, pci->device & 0xff,
             function & 0xf);
}

static void read_instances(const struct nvml_api *api, nvml_device device, struct nvml_gpu *gpu)
{
    unsigned now = 0, pending = 0, max = 0;

    if (!api->nvmlDeviceGetMigMode || !api->nvmlDeviceGetMaxMigDeviceCount ||
        !api->nvmlDeviceGetMigDeviceHandleByIndex ||
        api->nvmlDeviceGetMigMode(device, &now, &pending) != NVML_OK || now != NVML_ENABLED)
        return;
    gpu->mig = true;
    if (api->nvmlDeviceGetMaxMigDeviceCount(device, &max) != NVML_OK)
        return;
    for (unsigned i = 0; i < max && gpu->ninstances < NVML_MAX_INSTANCES; i++) {
        nvml_device instance;

        if (api->nvmlDeviceGetMigDeviceHandleByIndex(device, i, &instance) == NVML_OK &&
            api->nvmlDeviceGetUUID(instance, gpu->instances[gpu->ninstances],
                                   sizeof gpu->instances[0]) == NVML_OK)
            gpu->ninstances++;
    }
}

/* MB/s a link and direction, by generation (NVIDIA's data sheets: P100, V100 to
 * H200, B200). The numbers are nvml.h's NVML_NVLINK_VERSION_...: 1.0 is 1, 4.0 is 6,
 * 5.0 is 7. */
static unsigned link_bandwidth(const struct nvml_api *api, nvml_device device, unsigned link)
{
    unsigned version = 0;

    if (!api->nvmlDeviceGetNvLinkVersion ||
        api->nvmlDeviceGetNvLinkVersion(device, link, &version) != NVML_OK)
        return 25000;
    return version <= 1 ? 20000 : version <= 6 ? 25000 : 50000;
}

static void read_links(const struct nvml_api *api, nvml_device device, struct nvml_gpu *gpu)
{
    unsigned max = sizeof gpu->link / sizeof gpu->link[0];

    if (!api->nvmlDeviceGetNvLinkState || !api->nvmlDeviceGetNvLinkRemotePciInfo_v2)
        return;
    for (unsigned l = 0; l < max; l++) {
        int active = 0, type = NVML_LINK_TO_GPU;
        struct nvml_pci remote;

        memset(&remote, 0, sizeof remote);
        if (api->nvmlDeviceGetNvLinkState(device, l, &active) != NVML_OK || !active)
            continue;
        if (api->nvmlDeviceGetNvLinkRemoteDeviceType)
            api->nvmlDeviceGetNvLinkRemoteDeviceType(device, l, &type);
        if (api->nvmlDeviceGetNvLinkRemotePciInfo_v2(device, l, &remote) != NVML_OK &&
            type != NVML_LINK_TO_SWITCH)
            continue;
        pci_text(&remote, gpu->link[gpu->nlinks].pci);
        gpu->link[gpu->nlinks].to_switch = type == NVML_LINK_TO_SWITCH;
        gpu->link[gpu->nlinks].bandwidth = link_bandwidth(api, device, l);
        gpu->nlinks++;
    }
}

bool nvml_read_gpu(const struct nvml_api *api, unsigned index, bool links, struct nvml_gpu *gpu)
{
    nvml_device device;
    struct nvml_pci pci;
    unsigned minor;
    int mode;

    memset(gpu, 0, sizeof *gpu);
    memset(&pci, 0, sizeof pci);
    gpu->minor = -1;
    if (api->nvmlDeviceGetHandleByIndex_v2(index, &device) != NVML_OK ||
        api->nvmlDeviceGetPciInfo_v3(device, &pci) != NVML_OK)
        return false;
    pci_text(&pci, gpu->pci);
    if (api->nvmlDeviceGetUUID(device, gpu->uuid, sizeof gpu->uuid) != NVML_OK)
        gpu->uuid[0] = '\0';
    if (api->nvmlDeviceGetName &&
        api->nvmlDeviceGetName(device, gpu->model, sizeof gpu->model) != NVML_OK)
        gpu->model[0] = '\0';
    if (api->nvmlDeviceGetMinorNumber && api->nvmlDeviceGetMinorNumber(device, &minor) == NVML_OK)
        gpu->minor = (int)minor;
    gpu->prohibited = api->nvmlDeviceGetComputeMode &&
                      api->nvmlDeviceGetComputeMode(device, &mode) == NVML_OK &&
                      mode == NVML_PROHIBITED;
    read_instances(api, device, gpu);
    if (links)
        read_links(api, device, gpu);
    return true;
}

int nvml_list(bool links, struct nvml_gpu *gpus, int max)
{
    struct nvml_api api;
    unsigned count = 0;
    int n = 0;

    if (nvml_open(&api) != NVML_OK)
        return -1;
    if (api.nvmlDeviceGetCount_v2(&count) != NVML_OK)
        count = 0;
    for (unsigned i = 0; i < count && n < max; i++)
        n += nvml_read_gpu(&api, i, links, &gpus[n]);
    nvml_close(&api);
    return n;
}

struct question {
    bool links;
    struct nvml_gpu *gpus;
    int max;
};

/* The child: writes the list; exit status 1 says that NVML cannot be used. */
static void write_list(int out, void *context)
{
    const struct question *question = context;
    const char *bytes = (const char *)question->gpus;
    size_t size;
    int n;

    /* Where it hangs in the kernel it is left behind: nobody is to wait for what it holds open. */
    process_close_others(out, -1);
    n = nvml_list(question->links, question->gpus, question->max);
    size = n > 0 ? (size_t)n * sizeof *question->gpus : 0;
    if (n < 0)
        _exit(1);
    for (size_t done = 0; done < size;) {
        ssize_t wrote = write(out, bytes + done, size - done);

        if (wrote < 1)
            _exit(1);
        done += (size_t)wrote;
    }
}

int nvml_ask(bool links, int seconds, struct nvml_gpu *gpus, int max, struct gpubind_error *why)
{
    struct question question = {links, gpus, max};
    struct subprocess_end end;
    size_t got;

    if (subprocess_read(write_list, &question, seconds, gpus, (size_t)max * sizeof *gpus, &got,
                        &end, why) < 0)
        return NVML_FAILED;
    if (!end.in_time) {
        error_set(why, "NVML gave no answer within %d s", seconds);
        return NVML_FAILED;
    }
    if (WIFSIGNALED(end.status)) {
        error_set(why, "NVML was ended by signal %d", WTERMSIG(end.status));
        return NVML_FAILED;
    }
    if (end.status || got % sizeof *gpus) {
        error_set(why, "NVML cannot be used");
        return NVML_UNUSABLE;
    }
    return (int)(got / sizeof *gpus);
}
