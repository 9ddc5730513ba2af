#include "bench/lib/kernel_launch.h"

#include <stdio.h>
#include <string.h>

#include "bench/lib/program.h"
#include "bench/lib/stats.h"

int kernels_open(const struct bench_gpu *gpu, struct kernels *kernels, struct gpubind_error *err)
{
    int status;

    memset(kernels, 0, sizeof *kernels);
    if (!bench_kernel_image) {
        error_set(err, "this gpubind-bench has no kernels: it was built without nvcc");
        return BENCH_CANNOT;
    }
    kernels->gpu = gpu;
    status = gpu_module_load(&kernels->module, bench_kernel_image);
    if (status == GPU_OK)
        status = gpu_device_attribute(&kernels->processors, GPU_ATTRIBUTE_MULTIPROCESSORS,
                                      gpu->device);
    if (status == GPU_OK)
        status = gpu_device_attribute(&kernels->major, GPU_ATTRIBUTE_COMPUTE_MAJOR, gpu->device);
    if (gpu_check(status, "the kernels cannot be loaded", err) < 0)
        return BENCH_CANNOT;
    return gpu_alloc(sizeof(uint64_t), &kernels->count, err);
}

void kernels_close(struct kernels *kernels)
{
    if (!kernels->gpu)
        return;
    gpu_free(kernels->count);
    if (kernels->module)
        gpu_module_unload(kernels->module);
    memset(kernels, 0, sizeof *kernels);
}

int kernels_run(const struct kernels *kernels, const struct launch *launch, int n, double *seconds,
                struct gpubind_error *err)
{
    gpu_stream stream = kernels->gpu->stream[0];
    gpu_function kernel;
    char text[80];
    double from = 0;
    int status = gpu_module_function(&kernel, kernels->module, launch->name);

    if (status == GPU_OK)
        status = gpu_stream_synchronize(stream);
    from = seconds_now();
    for (int i = 0; i < n && status == GPU_OK; i++)
        status = gpu_kernel_launch(kernel, launch->blocks, 1, 1, launch->threads, 1, 1, 0, stream,
                                   launch->parameters, NULL);
    if (status == GPU_OK)
        status = gpu_stream_synchronize(stream);
    if (seconds)
        *seconds = (seconds_now() - from) / n;
    snprintf(text, sizeof text, "%s, %u blocks of %u threads", launch->name, launch->blocks,
             launch->threads);
    return gpu_check(status, text, err);
}

int kernels_time(const struct kernels *kernels, const struct launch *launch, int time_ms,
                 double *seconds, struct gpubind_error *err)
{
    const double wanted = 1e-3 * time_ms;
    double once;

    if (kernels_run(kernels, launch, 1, NULL, err) < 0 ||
        kernels_run(kernels, launch, 1, &once, err) < 0)
        return -1;
    return kernels_run(kernels, launch,
                       once > wanted          ? 1
                       : wanted / once > 1000 ? 1000
                                              : (int)(wanted / once) + 1,
                       seconds, err);
}

int kernels_count(const struct kernels *kernels, const struct launch *launch, uint64_t *count,
                  struct gpubind_error *err)
{
    *count = 0;
    if (gpu_upload(kernels->gpu, kernels->count, count, sizeof *count, err) < 0 ||
        kernels_run(kernels, launch, 1, NULL, err) < 0)
        return -1;
    return gpu_download(kernels->gpu, count, kernels->count, sizeof *count, err);
}

int kernels_fill(const struct kernels *kernels, void *at, size_t nbytes, uint64_t seed,
                 struct gpubind_error *err)
{
    uint64_t n = nbytes / 8;
    const struct launch launch = {"bench_fill", (unsigned)(8 * kernels->processors), 256,
                                  (void *[]){&at, &n, &seed}};

    return kernels_run(kernels, &launch, 1, NULL, err);
}

int kernels_compare(const struct kernels *kernels, const void *at, size_t nbytes, uint64_t seed,
                    uint64_t *wrong, struct gpubind_error *err)
{
    uint64_t n = nbytes / 8;
    void *count = kernels->count;
    const struct launch launch = {"bench_compare", (unsigned)(8 * kernels->processors), 256,
                                  (void *[]){&at, &n, &seed, &count}};

    return kernels_count(kernels, &launch, wrong, err);
}
