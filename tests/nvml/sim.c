/* A pretended NVIDIA driver without CUDA: NVML, and the files that the driver has in
 * /proc and /dev. Found as libnvidia-ml.so.1, and preloaded for the files' sake.
 *
 * In the folder $GPUBIND_SIM_NVML, `gpus` has a line for each GPU,
 *     ADDRESS UUID MINOR [mig]
 * and below one in MIG mode a line for each instance, its UUID; proc/driver/nvidia and
 * dev stand for the real ones; `opens` gets a line "HOST PID" for each nvmlInit. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/discover/nvml_api.h"

#define X(name, arguments) int name arguments;
NVML_FUNCTIONS(X)
#undef X

#define MOST 16

struct nvml_device {
    char pci[24], uuid[96];
    unsigned minor;
    int mig, ninstances;
    struct nvml_device *instance[MOST];
};

static struct nvml_device devices[MOST * (MOST + 1)], *gpus[MOST];
static int ndevices, ngpus;

enum { WRONG = 2, NOT_FOUND = 6 };

static void read_line(char *line)
{
    struct nvml_device *device = &devices[ndevices];
    char mode[8] = "";

    if (ndevices == MOST * (MOST + 1))
        return;
    memset(device, 0, sizeof *device);
    if (sscanf(line, "%23s %95s %u %7s", device->pci, device->uuid, &device->minor, mode) >= 3) {
        device->mig = strcmp(mode, "mig") == 0;
        gpus[ngpus++] = device;
        ndevices++;
    } else if (ngpus && sscanf(line, "%95s", device->uuid) == 1) {
        gpus[ngpus - 1]->instance[gpus[ngpus - 1]->ninstances++] = device;
        ndevices++;
    }
}

/* Paths of the driver, in the folder instead. */
static const char *moved(const char *path, char room[PATH_MAX])
{
    const char *folder = getenv("GPUBIND_SIM_NVML");

    if (!folder || (strncmp(path, "/proc/driver/nvidia", 19) != 0 &&
                    strncmp(path, "/dev/nvidia", 11) != 0 && strcmp(path, "/dev") != 0))
        return path;
    snprintf(room, PATH_MAX, "%s%s", folder, path);
    return room;
}

static FILE *open_file(const char *name, const char *mode)
{
    const char *folder = getenv("GPUBIND_SIM_NVML");
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder ? folder : "/nowhere", name);
    return fopen(path, mode);
}

int nvmlInit_v2(void)
{
    FILE *opens = open_file("opens", "a"), *file = open_file("gpus", "r");
    char line[256], host[256] = "";

    gethostname(host, sizeof host - 1);
    if (opens) {
        fprintf(opens, "%s %ld\n", host, (long)getpid());
        fclose(opens);
    }
    ndevices = ngpus = 0;
    while (file && ngpus < MOST && fgets(line, sizeof line, file))
        read_line(line);
    if (file)
        fclose(file);
    return file ? NVML_OK : WRONG;
}

int nvmlShutdown(void)
{
    return NVML_OK;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = (unsigned)ngpus;
    return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    *device = index < (unsigned)ngpus ? gpus[index] : NULL;
    return *device ? NVML_OK : WRONG;
}

int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci)
{
    unsigned function;

    memset(pci, 0, sizeof *pci);
    if (sscanf(device->pci, "%x:%x:%x.%x", &pci->domain, &pci->bus, &pci->device, &function) != 4)
        return WRONG;
    snprintf(pci->bus_id, sizeof pci->bus_id, "0000%.23s", device->pci);
    return NVML_OK;
}

int nvmlDeviceGetUUID(nvml_device device, char *uuid, unsigned size)
{
    snprintf(uuid, size, "%s", device->uuid);
    return NVML_OK;
}

int nvmlDeviceGetMinorNumber(nvml_device device, unsigned *minor)
{
    *minor = device->minor;
    return NVML_OK;
}

int nvmlDeviceGetMigMode(nvml_device device, unsigned *now, unsigned *pending)
{
    *now = *pending = device->mig ? NVML_ENABLED : 0;
    return NVML_OK;
}

/* As with NVIDIA's, there are more places than instances. */
int nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *count)
{
    *count = device->mig ? 7 : 0;
    return NVML_OK;
}

/* An instance stands in every other place first. */
int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index, nvml_device *instance)
{
    int at = device->ninstances <= 4 ? (index % 2 ? -1 : (int)index / 2) : (int)index;

    *instance = at >= 0 && at < device->ninstances ? device->instance[at] : NULL;
    return *instance ? NVML_OK : NOT_FOUND;
}

/* POSIX lets dlsym's result stand for a function. */
static void real(const char *name, void *function)
{
    *(void **)function = dlsym(RTLD_NEXT, name);
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *);
    char room[PATH_MAX];

    real("fopen", &next);
    return next(moved(path, room), mode);
}

int access(const char *path, int mode)
{
    int (*next)(const char *, int);
    char room[PATH_MAX];

    real("access", &next);
    return next(moved(path, room), mode);
}

DIR *opendir(const char *path)
{
    DIR *(*next)(const char *);
    char room[PATH_MAX];

    real("opendir", &next);
    return next(moved(path, room));
}
