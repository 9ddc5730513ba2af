#include "bench/lib/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

static int open_driver(struct gpu_driver *driver, struct gpubind_error *err)
{
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver->library)
        return error_set(err, "no CUDA driver (libcuda.so.1) is there");
/* POSIX lets dlsym's result stand for a function. */
#define X(name, arguments)                                   \
    *(void **)&driver->name = dlsym(driver->library, #name); \
    if (!driver->name)                                       \
        return error_set(err, "the CUDA driver is too old: it has no %s", #name);
    GPU_DRIVER_FUNCTIONS(X)
    GPU_DRIVER_MEASURE_FUNCTIONS(X)
#undef X
#define X(name, arguments) *(void **)&driver->name = dlsym(driver->library, #name);
    GPU_DRIVER_GRAPH_FUNCTIONS(X)
#undef X
    *(void **)&driver->cuDeviceGetName = dlsym(driver->library, "cuDeviceGetName");
    *(void **)&driver->cuDriverGetVersion = dlsym(driver->library, "cuDriverGetVersion");
    return 0;
}

int gpu_check(const struct bench_gpu *gpu, int status, const char *text, struct gpubind_error *err)
{
    const char *name = NULL;

    if (status == GPU_OK)
        return 0;
    gpu->driver.cuGetErrorName(status, &name);
    return error_set(err, "%s: error %d (%s)", text, status, name ? name : "?");
}

/* The device that GPUBIND_GPU_PCI names first, or -1. */
static int chosen_device(const struct gpu_driver *driver, int count)
{
    const char *wanted = getenv("GPUBIND_GPU_PCI");
    char pci[24];
    int device;

    for (int i = 0; wanted && *wanted && i < count; i++)
        if (driver->cuDeviceGet(&device, i) == GPU_OK &&
            driver->cuDeviceGetPCIBusId(pci, sizeof pci, device) == GPU_OK &&
            strncasecmp(wanted, pci, strlen(pci)) == 0)
            return i;
    return -1;
}

static int count_devices(const struct gpu_driver *driver, int *count, struct gpubind_error *err)
{
    struct bench_gpu gpu = {.driver = *driver};
    int status = driver->cuInit(0);

    *count = 0;
    if (status == GPU_OK)
        status = driver->cuDeviceGetCount(count);
    if (status == GPU_NO_DEVICE)
        return 0;
    return gpu_check(&gpu, status, "CUDA cannot be initialised", err);
}

int gpu_count(int *n, struct gpubind_error *err)
{
    struct gpu_driver driver;

    memset(&driver, 0, sizeof driver);
    return open_driver(&driver, err) < 0 ? -1 : count_devices(&driver, n, err);
}

static int choose_device(struct bench_gpu *gpu, int local, struct gpubind_error *err)
{
    int count, number;

    if (count_devices(&gpu->driver, &count, err) < 0)
        return -1;
    if (!count)
        return error_set(err, "no GPU is visible");
    number = chosen_device(&gpu->driver, count);
    if (number < 0)
        number = local % count;
    return gpu_check(gpu, gpu->driver.cuDeviceGet(&gpu->device, number), "cuDeviceGet", err);
}

/* For display: what cannot be queried stays empty. */
static void describe(struct bench_gpu *gpu)
{
    const struct gpu_driver *driver = &gpu->driver;

    driver->cuDeviceTotalMem_v2(&gpu->memory, gpu->device);
    driver->cuDeviceGetPCIBusId(gpu->pci, sizeof gpu->pci, gpu->device);
    if (driver->cuDeviceGetName)
        driver->cuDeviceGetName(gpu->name, sizeof gpu->name, gpu->device);
    if (driver->cuDriverGetVersion)
        driver->cuDriverGetVersion(&gpu->version);
}

static int open_context(struct bench_gpu *gpu, struct gpubind_error *err)
{
    const struct gpu_driver *driver = &gpu->driver;
    int status = driver->cuDevicePrimaryCtxRetain(&gpu->context, gpu->device);

    if (status == GPU_OK)
        status = driver->cuCtxPushCurrent_v2(gpu->context);
    gpu->entered = status == GPU_OK;
    for (int i = 0; i < 2 && status == GPU_OK; i++)
        status = driver->cuStreamCreate(&gpu->stream[i], GPU_STREAM_NON_BLOCKING);
    return gpu_check(gpu, status, "the GPU cannot be used", err);
}

static int open_chosen(struct bench_gpu *gpu, int status, struct gpubind_error *err)
{
    if (status < 0 || open_context(gpu, err) < 0) {
        gpu_close(gpu);
        return -1;
    }
    describe(gpu);
    return 0;
}

int gpu_open(struct bench_gpu *gpu, int local, struct gpubind_error *err)
{
    int status;

    memset(gpu, 0, sizeof *gpu);
    status = open_driver(&gpu->driver, err);
    return open_chosen(gpu, status < 0 ? status : choose_device(gpu, local, err), err);
}

int gpu_open_number(struct bench_gpu *gpu, int number, struct gpubind_error *err)
{
    int status, count;

    memset(gpu, 0, sizeof *gpu);
    status = open_driver(&gpu->driver, err);
    if (!status)
        status = count_devices(&gpu->driver, &count, err);
    if (!status)
        status = gpu_check(gpu, gpu->driver.cuDeviceGet(&gpu->device, number), "cuDeviceGet", err);
    return open_chosen(gpu, status, err);
}

int gpu_use(const struct bench_gpu *gpu, struct gpubind_error *err)
{
    gpu_context before;
    int status = gpu->driver.cuCtxPopCurrent_v2(&before);

    if (status == GPU_OK)
        status = gpu->driver.cuCtxPushCurrent_v2(gpu->context);
    return gpu_check(gpu, status, "the GPU's context cannot be made current", err);
}

/* The primary context is not released, only no longer current: other code may use it until the
 * process ends, and the library frees its memory in MPI_Finalize. */
void gpu_close(struct bench_gpu *gpu)
{
    gpu_context before;

    for (int i = 0; i < 2; i++)
        if (gpu->stream[i])
            gpu->driver.cuStreamDestroy_v2(gpu->stream[i]);
    if (gpu->entered)
        gpu->driver.cuCtxPopCurrent_v2(&before);
    memset(gpu, 0, sizeof *gpu);
}

int gpu_alloc(const struct bench_gpu *gpu, size_t nbytes, void **at, struct gpubind_error *err)
{
    gpu_address address = 0;
    int status = gpu->driver.cuMemAlloc_v2(&address, nbytes);
    char text[80];

    snprintf(text, sizeof text, "the GPU has no %zu bytes left", nbytes);
    *at = (void *)(uintptr_t)address;
    return gpu_check(gpu, status, text, err);
}

void gpu_free(const struct bench_gpu *gpu, void *at)
{
    if (at)
        gpu->driver.cuMemFree_v2(address_of(at));
}

int gpu_alloc_host(const struct bench_gpu *gpu, size_t nbytes, void **at, struct gpubind_error *err)
{
    int status;

    *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*at == MAP_FAILED) {
        *at = NULL;
        return error_set(err, "the host has no %zu bytes left", nbytes);
    }
    status = gpu->driver.cuMemHostRegister_v2(*at, nbytes, GPU_REGISTER_PORTABLE);
    if (status != GPU_OK) {
        munmap(*at, nbytes);
        *at = NULL;
    }
    return gpu_check(gpu, status, "host memory cannot be page-locked", err);
}

void gpu_free_host(const struct bench_gpu *gpu, void *at, size_t nbytes)
{
    if (!at)
        return;
    gpu->driver.cuMemHostUnregister(at);
    munmap(at, nbytes);
}

int gpu_upload(const struct bench_gpu *gpu, void *to, const void *from, size_t nbytes,
               struct gpubind_error *err)
{
    int status = gpu->driver.cuMemcpyHtoDAsync_v2(address_of(to), from, nbytes, gpu->stream[0]);

    if (status == GPU_OK)
        status = gpu->driver.cuStreamSynchronize(gpu->stream[0]);
    return gpu_check(gpu, status, "a copy to the GPU failed", err);
}

int gpu_download(const struct bench_gpu *gpu, void *to, const void *from, size_t nbytes,
                 struct gpubind_error *err)
{
    int status = gpu->driver.cuMemcpyDtoHAsync_v2(to, address_of(from), nbytes, gpu->stream[0]);

    if (status == GPU_OK)
        status = gpu->driver.cuStreamSynchronize(gpu->stream[0]);
    return gpu_check(gpu, status, "a copy from the GPU failed", err);
}
