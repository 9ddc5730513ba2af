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

static void read_bus(const char *pci, struct peak *peak)
{
    char speed[64], width[64];

    sysfs_read_pci(pci, "current_link_speed", speed, sizeof speed);
    sysfs_read_pci(pci, "current_link_width", width, sizeof width);
    peak_of_bus(speed, width, peak);
}

/* ---- NVLink */

static const struct nvml_gpu *find_gpu(const struct nvml_gpu *gpus, int n, const char *pci)
{
    for (int i = 0; i < n; i++)
        if (strcasecmp(gpus[i].pci, pci) == 0)
            return &gpus[i];
    return NULL;
}

/* Sum of MB/s, and number, of the links to a switch or, with pci, to that GPU. */
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

static void sum_to_peak(double sum, int count, struct peak *peak)
{
    peak->bytes_per_s = 1e6 * sum;
    snprintf(peak->why, sizeof peak->why, "%d NVLink%s of %.0f GB/s", count, count == 1 ? "" : "s",
             1e-3 * sum / count);
}

/* All links, whatever their remote end. */
static void find_out(const struct nvml_gpu *gpu, struct peak *peak)
{
    double sum = 0;

    for (int i = 0; gpu && i < gpu->nlinks; i++)
        sum += gpu->link[i].bandwidth;
    if (sum > 0)
        sum_to_peak(sum, gpu->nlinks, peak);
}

static void find_pair(const struct nvml_gpu *a, const struct nvml_gpu *b, struct peak *peak)
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
        sum_to_peak(sum, count, peak);
}

/* Without NVLink the slower of the two buses. */
static void read_pairs(struct peaks *peaks)
{
    struct nvml_gpu *gpus = calloc(NVML_MAX_GPUS, sizeof *gpus);
    int n = gpus ? nvml_list(true, gpus, NVML_MAX_GPUS) : 0;

    for (int i = 0; i < peaks->n; i++) {
        peaks->gpu[i].out = peaks->gpu[i].bus;
        find_out(find_gpu(gpus, n, peaks->gpu[i].pci), &peaks->gpu[i].out);
        for (int j = 0; j < peaks->n; j++) {
            const struct peak *a = &peaks->gpu[i].bus, *b = &peaks->gpu[j].bus;
            struct peak *pair = &peaks->gpu[i].pair[j];

            if (i == j)
                continue;
            find_pair(find_gpu(gpus, n, peaks->gpu[i].pci), find_gpu(gpus, n, peaks->gpu[j].pci),
                      pair);
            if (pair->bytes_per_s <= 0)
                *pair = a->bytes_per_s < b->bytes_per_s ? *a : *b;
        }
    }
    free(gpus);
}

static int read_gpu(int number, struct peaks *peaks, struct gpubind_error *err)
{
    struct bench_gpu gpu;
    struct text name = {0};
    int clock = 0, bits = 0;

    if (gpu_open_number(&gpu, number, err) < 0)
        return -1;
    gpu_device_attribute(&clock, GPU_ATTRIBUTE_MEMORY_CLOCK, gpu.device);
    gpu_device_attribute(&bits, GPU_ATTRIBUTE_MEMORY_BUS, gpu.device);
    machine_add_gpu("", &gpu, &name);
    snprintf(peaks->gpu[number].name, sizeof peaks->gpu[number].name, "%s",
             name.bytes ? name.bytes : "");
    text_clear(&name);
    memcpy(peaks->gpu[number].pci, gpu.pci, sizeof gpu.pci);
    peak_of_memory(clock, bits, &peaks->gpu[number].memory);
    read_bus(gpu.pci, &peaks->gpu[number].bus);
    gpu_close(&gpu);
    return 0;
}

int peaks_read(int local, struct peaks *peaks, struct gpubind_error *err)
{
    struct bench_gpu own;
    int n;

    memset(peaks, 0, sizeof *peaks);
    if (gpu_visible(&n, err) < 0)
        return -1;
    for (int i = 0; i < n && i < PEAKS_MAX_GPUS; i++) {
        if (read_gpu(i, peaks, err) < 0)
            return -1;
        peaks->n++;
    }
    read_pairs(peaks);
    if (!n || gpu_open(&own, local, err) < 0)
        return n ? -1 : 0;
    for (int i = 0; i < peaks->n; i++)
        if (strcmp(peaks->gpu[i].pci, own.pci) == 0)
            peaks->own = i;
    gpu_close(&own);
    return 0;
}

/* ---- between ranks */

void rank_location_find(int local, struct rank_location *location)
{
    struct bench_gpu gpu;

    memset(location, 0, sizeof *location);
    gethostname(location->host, sizeof location->host - 1);
    if (gpu_open(&gpu, local, NULL) < 0)
        return;
    memcpy(location->pci, gpu.pci, sizeof location->pci);
    gpu_close(&gpu);
}

/* From rank 0, whose GPU is peaks->own. */
static void find_way(const struct rank_location *from, const struct rank_location *to,
                     const struct peaks *peaks, const struct nvml_gpu *gpus, int n,
                     struct peak *peak)
{
    const struct peak *bus = &peaks->gpu[peaks->own].bus;

    memset(peak, 0, sizeof *peak);
    if (!*to->pci || strcmp(from->host, to->host) != 0)
        return;
    if (strcmp(from->pci, to->pci) == 0) {
        peak_halve(&peaks->gpu[peaks->own].memory, peak);
        return;
    }
    find_pair(find_gpu(gpus, n, from->pci), find_gpu(gpus, n, to->pci), peak);
    if (peak->bytes_per_s > 0)
        return;
    read_bus(to->pci, peak);
    if (bus->bytes_per_s < peak->bytes_per_s)
        *peak = *bus;
}

void peaks_of_ranks(const struct rank_location *locations, int n, struct peaks *peaks)
{
    struct nvml_gpu *gpus = calloc(NVML_MAX_GPUS, sizeof *gpus);
    int ngpus = gpus ? nvml_list(true, gpus, NVML_MAX_GPUS) : 0, alone = 1, here = 1;

    find_way(&locations[0], &locations[n > 1], peaks, gpus, ngpus, &peaks->next);
    find_way(&locations[0], &locations[n / 2], peaks, gpus, ngpus, &peaks->partner);
    for (int i = 0; i < n; i++) {
        here &= *locations[i].pci && strcmp(locations[i].host, locations[0].host) == 0;
        alone &= strcmp(locations[i].pci, locations[0].pci) == 0;
    }
    memset(&peaks->all, 0, sizeof peaks->all);
    if (here && alone)
        peak_halve(&peaks->gpu[peaks->own].memory, &peaks->all);
    else if (here)
        peaks->all = peaks->gpu[peaks->own].out;
    free(gpus);
}
