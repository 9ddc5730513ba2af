/* NVML, which a process of its own asks: a driver in trouble hangs or kills it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/discover/nvml.h"
#include "host/discover/nvml_api.h"
#include "host/doctor/collect.h"
#include "host/sys/subprocess.h"

struct nvml_facts {
    struct nvml_gpu gpu;
    int persistence, compute_mode, mig;
    long long ecc_errors, memory_bytes, clock_limits;
    int links_up, links_down, fabric, fabric_status;
};

struct answer {
    int status; /* of nvml_open */
    char why[256];
    int n;
    struct nvml_facts gpus[DOCTOR_MAX_GPUS];
    int peer[DOCTOR_MAX_GPUS][DOCTOR_MAX_GPUS], nvlink[DOCTOR_MAX_GPUS][DOCTOR_MAX_GPUS];
};

static void ask_modes(const struct nvml_api *api, nvml_device device, struct nvml_facts *found)
{
    unsigned now = 0, pending = 0;
    unsigned long long errors = 0;

    found->persistence = found->compute_mode = found->mig = -1;
    found->ecc_errors = -1;
    if (api->nvmlDeviceGetPersistenceMode &&
        api->nvmlDeviceGetPersistenceMode(device, &found->persistence) != NVML_OK)
        found->persistence = -1;
    if (api->nvmlDeviceGetComputeMode &&
        api->nvmlDeviceGetComputeMode(device, &found->compute_mode) != NVML_OK)
        found->compute_mode = -1;
    if (api->nvmlDeviceGetMigMode && api->nvmlDeviceGetMigMode(device, &now, &pending) == NVML_OK)
        found->mig = now == NVML_ENABLED;
    if (api->nvmlDeviceGetTotalEccErrors &&
        api->nvmlDeviceGetTotalEccErrors(device, NVML_UNCORRECTED, NVML_SINCE_LOAD, &errors) ==
            NVML_OK)
        found->ecc_errors = (long long)errors;
}

/* Links beyond those that the GPU has are refused. */
static void ask_links(const struct nvml_api *api, nvml_device device, struct nvml_facts *found)
{
    found->links_up = found->links_down = -1;
    for (unsigned link = 0; api->nvmlDeviceGetNvLinkState && link < NVML_MAX_LINKS; link++) {
        int active = 0;

        if (api->nvmlDeviceGetNvLinkState(device, link, &active) != NVML_OK)
            continue;
        if (found->links_up < 0)
            found->links_up = found->links_down = 0;
        found->links_up += active == NVML_ENABLED;
        found->links_down += active != NVML_ENABLED;
    }
}

static void ask_state(const struct nvml_api *api, nvml_device device, struct nvml_facts *found)
{
    struct nvml_memory memory = {0};
    struct nvml_fabric fabric = {0};
    unsigned long long limits = 0;
    /* The older name, before driver 535. */
    int (*ask_clocks)(nvml_device,
                      unsigned long long *) = api->nvmlDeviceGetCurrentClocksEventReasons
                                                  ? api->nvmlDeviceGetCurrentClocksEventReasons
                                                  : api->nvmlDeviceGetCurrentClocksThrottleReasons;

    found->memory_bytes = found->clock_limits = -1;
    found->fabric = found->fabric_status = -1;
    if (api->nvmlDeviceGetMemoryInfo && api->nvmlDeviceGetMemoryInfo(device, &memory) == NVML_OK)
        found->memory_bytes = (long long)memory.total;
    if (ask_clocks && ask_clocks(device, &limits) == NVML_OK)
        found->clock_limits = (long long)(limits & 0xffffffff);
    if (api->nvmlDeviceGetGpuFabricInfo &&
        api->nvmlDeviceGetGpuFabricInfo(device, &fabric) == NVML_OK) {
        found->fabric = fabric.state;
        found->fabric_status = fabric.status;
    }
    ask_links(api, device, found);
}

static int ask_pair(const struct nvml_api *api, nvml_device a, nvml_device b, int what)
{
    int status = -1;

    if (!api->nvmlDeviceGetP2PStatus || api->nvmlDeviceGetP2PStatus(a, b, what, &status) != NVML_OK)
        return -1;
    return status;
}

static void ask_gpus(const struct nvml_api *api, struct answer *answer)
{
    nvml_device devices[DOCTOR_MAX_GPUS];
    unsigned count = 0;

    if (api->nvmlDeviceGetCount_v2(&count) != NVML_OK)
        count = 0;
    for (unsigned i = 0; i < count && answer->n < DOCTOR_MAX_GPUS; i++) {
        struct nvml_facts *found = &answer->gpus[answer->n];

        if (!nvml_read_gpu(api, i, false, &found->gpu) ||
            api->nvmlDeviceGetHandleByIndex_v2(i, &devices[answer->n]) != NVML_OK)
            continue;
        ask_modes(api, devices[answer->n], found);
        ask_state(api, devices[answer->n++], found);
    }
    for (int a = 0; a < answer->n; a++)
        for (int b = 0; b < answer->n; b++) {
            answer->peer[a][b] = ask_pair(api, devices[a], devices[b], NVML_PEER_READ);
            answer->nvlink[a][b] = ask_pair(api, devices[a], devices[b], NVML_PEER_LINK);
        }
}

static void ask(int out, void *context)
{
    struct answer *answer = context;
    const char *bytes = context;
    struct nvml_api api;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (!library)
        snprintf(answer->why, sizeof answer->why, "%.250s", dlerror());
    answer->status = nvml_open(&api);
    if (answer->status == NVML_OK) {
        ask_gpus(&api, answer);
        nvml_close(&api);
    }
    for (size_t done = 0; done < sizeof *answer;) {
        ssize_t wrote = write(out, bytes + done, sizeof *answer - done);

        if (wrote < 1)
            _exit(1);
        done += (size_t)wrote;
    }
}

static int find_gpu(const struct doctor_facts *facts, const char *pci)
{
    for (int g = 0; g < facts->ngpus; g++)
        if (strcmp(facts->gpus[g].pci, pci) == 0)
            return g;
    return -1;
}

static void take_gpu(struct doctor_facts *facts, const struct nvml_facts *found)
{
    struct doctor_gpu *gpu = doctor_facts_gpu(facts, found->gpu.pci);

    if (!gpu)
        return;
    gpu->in_driver = true;
    if (!gpu->uuid[0] && !strchr(found->gpu.uuid, '?'))
        memcpy(gpu->uuid, found->gpu.uuid, sizeof gpu->uuid);
    if (!gpu->model[0])
        memcpy(gpu->model, found->gpu.model, sizeof gpu->model);
    if (gpu->minor < 0)
        gpu->minor = found->gpu.minor;
    gpu->persistence = found->persistence;
    gpu->compute_mode = found->compute_mode;
    gpu->mig = found->mig;
    gpu->instances = found->gpu.ninstances;
    gpu->ecc_errors = found->ecc_errors;
    gpu->memory_bytes = found->memory_bytes;
    gpu->clock_limits = found->clock_limits;
    gpu->links_up = found->links_up;
    gpu->links_down = found->links_down;
    gpu->fabric = found->fabric;
    gpu->fabric_status = found->fabric_status;
}

static void take_answer(const struct answer *answer, struct doctor_facts *facts)
{
    if (answer->status != NVML_OK) {
        facts->nvml = DOCTOR_NVML_FAILED;
        facts->nvml_mismatch = answer->status == NVML_VERSIONS_DIFFER;
        if (answer->why[0])
            memcpy(facts->nvml_why, answer->why, sizeof facts->nvml_why);
        else
            snprintf(facts->nvml_why, sizeof facts->nvml_why, "nvmlInit: %s (%d)",
                     answer->status == NVML_VERSIONS_DIFFER ? "driver and library versions differ"
                     : answer->status == NVML_NO_DRIVER     ? "the driver is not loaded"
                                                            : "error",
                     answer->status);
        return;
    }
    facts->nvml = DOCTOR_NVML_ANSWERED;
    for (int i = 0; i < answer->n; i++)
        take_gpu(facts, &answer->gpus[i]);
    for (int i = 0; i < answer->n; i++)
        for (int j = 0; j < answer->n; j++) {
            int a = find_gpu(facts, answer->gpus[i].gpu.pci);
            int b = find_gpu(facts, answer->gpus[j].gpu.pci);

            if (a < 0 || b < 0)
                continue;
            facts->peer[a][b] = answer->peer[i][j];
            facts->nvlink[a][b] = answer->nvlink[i][j] < 0 ? -1 : answer->nvlink[i][j] == 0;
        }
}

void doctor_ask_nvml(int seconds, struct doctor_facts *facts)
{
    struct answer *mine = calloc(1, sizeof *mine), *answer = calloc(1, sizeof *answer);
    struct gpubind_error err = {"out of memory"};
    long length = -1;
    size_t got;

    if (mine && answer)
        length = subprocess_run(ask, mine, seconds, answer, sizeof *answer, &got, &err);
    if (length == (long)sizeof *answer) {
        take_answer(answer, facts);
    } else {
        facts->nvml = DOCTOR_NVML_FAILED;
        snprintf(facts->nvml_why, sizeof facts->nvml_why, "%.250s", err.text);
    }
    free(mine);
    free(answer);
}
