#include "bench/main/peaks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bench/lib/gpu.h"
#include "bench/lib/machine.h"
#include "bench/lib/sysfs.h"
#include "host/discover/nvml.h"

static void read_bus(const char *pci, struct limit *limit)
{
    char speed[64], width[64];

    sysfs_read_pci(pci, "current_link_speed", speed, sizeof speed);
    sysfs_read_pci(pci, "current_link_width", width, sizeof width);
    limit_of_bus(speed, width, limit);
}

/* ---- NVLink */

static const struct nvml_gpu *find_gpu(const struct nvml_gpu *gpus, int n, const char *pci)
{
    for (int i = 0; i < n; i++)
        if (strcasecmp(gpus[i].pci, pci) == 0)
            return &gpus[i];
    return NULL;
}

/* MB/s and number of the links that lead to a switch, or (pci) to that GPU. */
static double sum_links(const struct nvml_gpu *gpu, const char *pci, int *count)
{
    double sum = 0;

    *count = 0;
    for (int i = 0; gpu && i < gpu->nlinks; i++)
        if (pci ? strcasecmp(gpu->link[i].pci, pci) == 0 : gpu->link[i].to_switch) {
            sum += gpu->link[i].bandwidth;
            ++*count;
        }
    return sum;
}

static void sum_to_limit(double sum, int count, struct limit *limit)
{
    limit->bytes_per_s = 1e6 * sum;
    snprintf(limit->why, sizeof limit->why, "%d NVLink%s of %.0f GB/s", count,
             count == 1 ? "" : "s", 1e-3 * sum / count);
}

/* All links, wherever they lead. */
static void find_out(const struct nvml_gpu *gpu, struct limit *limit)
{
    double sum = 0;

    for (int i = 0; gpu && i < gpu->nlinks; i++)
        sum += gpu->link[i].bandwidth;
    if (sum > 0)
        sum_to_limit(sum, gpu->nlinks, limit);
}

static void find_pair(const struct nvml_gpu *a, const struct nvml_gpu *b, struct limit *limit)
{
    int count = 0, other;
    double sum = a && b ? sum_links(a, b->pci, &count) : 0;

    if (!sum && a && b) {
        double back = sum_links(b, NULL, &other);

        sum = sum_links(a, NULL, &count);
        if (back < sum) {
            sum = back;
            count = other;
        }
    }
    if (sum > 0)
        sum_to_limit(sum, count, limit);
}

/* Without NVLink the slower of the two buses. */
static void read_pairs(struct limits *limits)
{
    struct nvml_gpu *gpus = calloc(NVML_MAX_GPUS, sizeof *gpus);
    int n = gpus ? nvml_list(true, gpus, NVML_MAX_GPUS) : 0;

    for (int i = 0; i < limits->n; i++) {
        limits->gpu[i].out = limits->gpu[i].bus;
        find_out(find_gpu(gpus, n, limits->gpu[i].pci), &limits->gpu[i].out);
        for (int j = 0; j < limits->n; j++) {
            const struct limit *a = &limits->gpu[i].bus, *b = &limits->gpu[j].bus;
            struct limit *pair = &limits->gpu[i].pair[j];

            if (i == j)
                continue;
            find_pair(find_gpu(gpus, n, limits->gpu[i].pci), find_gpu(gpus, n, limits->gpu[j].pci),
                      pair);
            if (pair->bytes_per_s <= 0)
                *pair = a->bytes_per_s < b->bytes_per_s ? *a : *b;
        }
    }
    free(gpus);
}

static int read_gpu(int number, struct limits *limits, struct gpubind_error *err)
{
    struct bench_gpu gpu;
    struct text name = {0};
    int clock = 0, bits = 0;

    if (gpu_open_number(&gpu, number, err) < 0)
        return -1;
    gpu.driver.cuDeviceGetAttribute(&clock, CUDA_ATTRIBUTE_MEMORY_CLOCK, gpu.device);
    gpu.driver.cuDeviceGetAttribute(&bits, CUDA_ATTRIBUTE_MEMORY_BUS, gpu.device);
    machine_add_gpu("", &gpu, &name);
    snprintf(limits->gpu[number].name, sizeof limits->gpu[number].name, "%s",
             name.bytes ? name.bytes : "");
    text_clear(&name);
    memcpy(limits->gpu[number].pci, gpu.pci, sizeof gpu.pci);
    limit_of_memory(clock, bits, &limits->gpu[number].memory);
    read_bus(gpu.pci, &limits->gpu[number].bus);
    gpu_close(&gpu);
    return 0;
}

int limits_read(int local, struct limits *limits, struct gpubind_error *err)
{
    struct bench_gpu own;
    int n;

    memset(limits, 0, sizeof *limits);
    if (gpu_count(&n, err) < 0)
        return -1;
    for (int i = 0; i < n && i < LIMITS_MAX_GPUS; i++) {
        if (read_gpu(i, limits, err) < 0)
            return -1;
        limits->n++;
    }
    read_pairs(limits);
    if (!n || gpu_open(&own, local, err) < 0)
        return n ? -1 : 0;
    for (int i = 0; i < limits->n; i++)
        if (strcmp(limits->gpu[i].pci, own.pci) == 0)
            limits->own = i;
    gpu_close(&own);
    return 0;
}

/* ---- between ranks */

void limits_find_place(int local, struct limits_place *place)
{
    struct bench_gpu gpu;

    memset(place, 0, sizeof *place);
    gethostname(place->host, sizeof place->host - 1);
    if (gpu_open(&gpu, local, NULL) < 0)
        return;
    memcpy(place->pci, gpu.pci, sizeof place->pci);
    gpu_close(&gpu);
}

/* From rank 0, whose GPU is limits->own. */
static void find_way(const struct limits_place *from, const struct limits_place *to,
                     const struct limits *limits, const struct nvml_gpu *gpus, int n,
                     struct limit *limit)
{
    const struct limit *bus = &limits->gpu[limits->own].bus;

    memset(limit, 0, sizeof *limit);
    if (!*to->pci || strcmp(from->host, to->host) != 0)
        return;
    if (strcmp(from->pci, to->pci) == 0) {
        limit_halve(&limits->gpu[limits->own].memory, limit);
        return;
    }
    find_pair(find_gpu(gpus, n, from->pci), find_gpu(gpus, n, to->pci), limit);
    if (limit->bytes_per_s > 0)
        return;
    read_bus(to->pci, limit);
    if (bus->bytes_per_s < limit->bytes_per_s)
        *limit = *bus;
}

void limits_of_ranks(const struct limits_place *places, int n, struct limits *limits)
{
    struct nvml_gpu *gpus = calloc(NVML_MAX_GPUS, sizeof *gpus);
    int ngpus = gpus ? nvml_list(true, gpus, NVML_MAX_GPUS) : 0, alone = 1, here = 1;

    find_way(&places[0], &places[n > 1], limits, gpus, ngpus, &limits->next);
    find_way(&places[0], &places[n / 2], limits, gpus, ngpus, &limits->partner);
    for (int i = 0; i < n; i++) {
        here &= *places[i].pci && strcmp(places[i].host, places[0].host) == 0;
        alone &= strcmp(places[i].pci, places[0].pci) == 0;
    }
    memset(&limits->all, 0, sizeof limits->all);
    if (here && alone)
        limit_halve(&limits->gpu[limits->own].memory, &limits->all);
    else if (here)
        limits->all = limits->gpu[limits->own].out;
    free(gpus);
}
