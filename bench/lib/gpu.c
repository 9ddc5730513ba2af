#include "bench/lib/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

int gpu_check(int status, const char *text, struct gpubind_error *err)
{
    const char *name = NULL;

    if (status == GPU_OK)
        return 0;
    gpu_error_name(status, &name);
    return error_set(err, "%s: error %d (%s)", text, status, name ? name : "?");
}

/* The device that GPUBIND_GPU_PCI names first, or -1. */
static int chosen_device(int count)
{
    const char *wanted = getenv("GPUBIND_GPU_PCI");
    char pci[24];
    int device;

    for (int i = 0; wanted && *wanted && i < count; i++)
        if (gpu_device_get(&device, i) == GPU_OK &&
            gpu_device_pci(pci, sizeof pci, device) == GPU_OK &&
            strncasecmp(wanted, pci, strlen(pci)) == 0)
            return i;
    return -1;
}

static int choose_device(struct bench_gpu *gpu, int local, struct gpubind_error *err)
{
    int count, number;

    if (gpu_visible(&count, err) < 0)
        return -1;
    if (!count)
        return error_set(err, "no GPU is visible");
    number = chosen_device(count);
    if (number < 0)
        number = local % count;
    return gpu_check(gpu_device_get(&gpu->device, number), "cuDeviceGet", err);
}

/* For display: what cannot be queried stays empty. */
static void describe(struct bench_gpu *gpu)
{
    gpu_device_memory(&gpu->memory, gpu->device);
    gpu_device_pci(gpu->pci, sizeof gpu->pci, gpu->device);
    if (gpu_device_name)
        gpu_device_name(gpu->name, sizeof gpu->name, gpu->device);
    if (gpu_driver_version)
        gpu_driver_version(&gpu->version);
}

static int open_context(struct bench_gpu *gpu, struct gpubind_error *err)
{
    int status = gpu_context_retain(&gpu->context, gpu->device);

    if (status == GPU_OK)
        status = gpu_context_push(gpu->context);
    gpu->entered = status == GPU_OK;
    for (int i = 0; i < 2 && status == GPU_OK; i++)
        status = gpu_stream_create(&gpu->stream[i], GPU_STREAM_NON_BLOCKING);
    return gpu_check(status, "the GPU cannot be used", err);
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
    memset(gpu, 0, sizeof *gpu);
    return open_chosen(gpu, choose_device(gpu, local, err), err);
}

int gpu_open_number(struct bench_gpu *gpu, int number, struct gpubind_error *err)
{
    int status, count;

    memset(gpu, 0, sizeof *gpu);
    status = gpu_visible(&count, err);
    if (!status)
        status = gpu_check(gpu_device_get(&gpu->device, number), "cuDeviceGet", err);
    return open_chosen(gpu, status, err);
}

int gpu_use(const struct bench_gpu *gpu, struct gpubind_error *err)
{
    gpu_context before;
    int status = gpu_context_pop(&before);

    if (status == GPU_OK)
        status = gpu_context_push(gpu->context);
    return gpu_check(status, "the GPU's context cannot be made current", err);
}

/* The primary context is not released, only no longer current: other code may use it until the
 * process ends, and the library frees its memory in MPI_Finalize. */
void gpu_close(struct bench_gpu *gpu)
{
    gpu_context before;

    for (int i = 0; i < 2; i++)
        if (gpu->stream[i])
            gpu_stream_destroy(gpu->stream[i]);
    if (gpu->entered)
        gpu_context_pop(&before);
    memset(gpu, 0, sizeof *gpu);
}

int gpu_alloc(size_t nbytes, void **at, struct gpubind_error *err)
{
    gpu_address address = 0;
    int status = gpu_mem_alloc(&address, nbytes);
    char text[80];

    snprintf(text, sizeof text, "the GPU has no %zu bytes left", nbytes);
    *at = (void *)(uintptr_t)address;
    return gpu_check(status, text, err);
}

void gpu_free(void *at)
{
    if (at)
        gpu_mem_free(address_of(at));
}

int gpu_alloc_host(size_t nbytes, void **at, struct gpubind_error *err)
{
    int status;

    *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*at == MAP_FAILED) {
        *at = NULL;
        return error_set(err, "the host has no %zu bytes left", nbytes);
    }
    status = gpu_host_register(*at, nbytes, GPU_REGISTER_PORTABLE);
    if (status != GPU_OK) {
        munmap(*at, nbytes);
        *at = NULL;
    }
    return gpu_check(status, "host memory cannot be page-locked", err);
}

void gpu_free_host(void *at, size_t nbytes)
{
    if (!at)
        return;
    gpu_host_unregister(at);
    munmap(at, nbytes);
}

int gpu_upload(const struct bench_gpu *gpu, void *to, const void *from, size_t nbytes,
               struct gpubind_error *err)
{
    int status = gpu_upload_async(address_of(to), from, nbytes, gpu->stream[0]);

    if (status == GPU_OK)
        status = gpu_stream_synchronize(gpu->stream[0]);
    return gpu_check(status, "a copy to the GPU failed", err);
}

int gpu_download(const struct bench_gpu *gpu, void *to, const void *from, size_t nbytes,
                 struct gpubind_error *err)
{
    int status = gpu_download_async(to, address_of(from), nbytes, gpu->stream[0]);

    if (status == GPU_OK)
        status = gpu_stream_synchronize(gpu->stream[0]);
    return gpu_check(status, "a copy from the GPU failed", err);
}
