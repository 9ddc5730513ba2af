#include "gpu/core/driver.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static bool find_functions(struct cuda_driver *driver, struct gpubind_error *err)
{
/* POSIX lets dlsym's result stand for a function. */
#define X(name, arguments) *(void **)&driver->name = dlsym(driver->object, #name);
    CUDA_FUNCTIONS(X)
    CUDA_MEASURE_FUNCTIONS(X)
    CUDA_OPTIONAL_FUNCTIONS(X)
    CUDA_OPTIONAL_MEASURE_FUNCTIONS(X)
#undef X
#define X(name, arguments)                                                 \
    if (!driver->name) {                                                   \
        error_set(err, "the CUDA driver is too old: it has no %s", #name); \
        return false;                                                      \
    }
    CUDA_FUNCTIONS(X)
    CUDA_MEASURE_FUNCTIONS(X)
#undef X
    return true;
}

static bool open_driver(struct cuda_driver *driver, int flags, struct gpubind_error *err)
{
    memset(driver, 0, sizeof *driver);
    driver->object = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | flags);
    if (!driver->object) {
        error_set(err, "there is no CUDA driver (libcuda.so.1) on this machine");
        return false;
    }
    return find_functions(driver, err);
}

bool cuda_driver_open(struct cuda_driver *driver, struct gpubind_error *err)
{
    return open_driver(driver, 0, err);
}

/* ---- the driver of this process */

static struct cuda_driver opened;
static enum { ABSENT, JOINED, FOUND } state; /* FOUND: and initialised */

static int count_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1; /* every object has the same count */
}

/* Programs without CUDA ask at every call, so the driver is looked for only after another shared
 * object was loaded. */
static bool join(void)
{
    static unsigned long long looked_at;
    unsigned long long loads = 0;

    dl_iterate_phdr(count_loads, &loads);
    if (loads == looked_at)
        return false;
    looked_at = loads;
    return open_driver(&opened, RTLD_NOLOAD, NULL);
}

const struct cuda_driver *gpu_driver(void)
{
    int count;

    if (state == FOUND)
        return &opened;
    if (state == ABSENT && !join())
        return NULL;
    state = JOINED;
    if (opened.cuDeviceGetCount(&count) != GPU_OK)
        return NULL;
    state = FOUND;
    return &opened;
}

bool gpu_driver_is_known(void)
{
    return state == FOUND;
}

int gpu_error(int status, const char *what, struct gpubind_error *err)
{
    const char *name = NULL;

    if (status == GPU_CAPTURE_IMPLICIT || status == GPU_CAPTURE_UNSUPPORTED)
        return error_set(err, "%s: not possible while a stream is being captured", what);
    if (opened.cuGetErrorName(status, &name) != GPU_OK || !name)
        return error_set(err, "%s: CUDA error %d", what, status);
    return error_set(err, "%s: %s", what, name);
}

int gpu_visible(int *n, struct gpubind_error *err)
{
    int status;

    *n = 0;
    if (!gpu_driver()) {
        if (!cuda_driver_open(&opened, err))
            return -1;
        status = opened.cuInit(0);
        if (status == GPU_NO_DEVICE)
            return 0;
        if (status != GPU_OK)
            return gpu_error(status, "CUDA cannot be initialised", err);
        state = FOUND;
    }
    status = opened.cuDeviceGetCount(n);
    return status == GPU_OK ? 0 : gpu_error(status, "the GPUs cannot be counted", err);
}

int gpu_start(struct gpubind_error *err)
{
    int n;

    if (gpu_visible(&n, err) < 0)
        return -1;
    return state == FOUND ? 0 : gpu_error(GPU_NO_DEVICE, "CUDA cannot be initialised", err);
}

/* ---- devices */

/* The 8-4-4-4-12 digits. The driver does not say whether a device is an instance,
 * so the prefix is left to the reader. */
static void uuid_text(const struct cuda_uuid *uuid, char text[48])
{
    int at = 0;

    for (int i = 0; i < 16; i++)
        at += snprintf(text + at, 48 - (size_t)at, "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       (unsigned char)uuid->bytes[i]);
}

static int read_device(const struct cuda_driver *driver, int number, struct cuda_seen *seen,
                       struct gpubind_error *err)
{
    struct cuda_uuid uuid;
    int device, status = driver->cuDeviceGet(&device, number);

    if (status == CUDA_OK)
        status = driver->cuDeviceGetUuid_v2(&uuid, device);
    if (status == CUDA_OK)
        status = driver->cuDeviceGetPCIBusId(seen->pci[number], sizeof seen->pci[0], device);
    if (status != CUDA_OK)
        return error_set(err, "CUDA device %d cannot be read: error %d", number, status);
    uuid_text(&uuid, seen->uuid[number]);
    for (char *c = seen->pci[number]; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    seen->n++;
    return 0;
}

int cuda_list(struct cuda_seen *seen, struct gpubind_error *err)
{
    struct cuda_driver driver;
    int count = 0, status;

    memset(seen, 0, sizeof *seen);
    if (!cuda_driver_open(&driver, err))
        return driver.object ? -1 : 1;
    status = driver.cuInit(0);
    if (status == CUDA_NO_DEVICE)
        return 0;
    if (status == CUDA_OK)
        status = driver.cuDeviceGetCount(&count);
    if (status != CUDA_OK)
        return error_set(err, "CUDA cannot be initialised: error %d", status);
    for (int number = 0; number < count && number < CUDA_MAX_SEEN; number++)
        if (read_device(&driver, number, seen, err) < 0)
            return -1;
    return 0;
}
