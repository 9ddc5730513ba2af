/* Peak bandwidths of the machine's memories and links, from NVML, the driver and sysfs. */
#ifndef GPUBIND_BENCH_MAIN_PEAKS_H
#define GPUBIND_BENCH_MAIN_PEAKS_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/text.h"

#define PEAKS_MAX_GPUS 32

struct peak {
    double bytes_per_s; /* one way; 0: not known */
    char why[96];       /* "18 NVLinks of 25 GB/s" */
};

struct peaks {
    int n;   /* visible GPUs */
    int own; /* the one that rank 0 uses */
    /* From rank 0 to rank 1, to its partner in pt2pt, and to all other ranks together. For a single
     * rank, or ranks of the same GPU, the peak is that of the GPU's memory. */
    struct peak next, partner, all;
    struct {
        char name[200]; /* with its address and its driver */
        char pci[24];
        struct peak memory, bus;
        struct peak out;                  /* all of its NVLinks, or its bus */
        struct peak pair[PEAKS_MAX_GPUS]; /* to each other GPU */
    } gpu[PEAKS_MAX_GPUS];
};

/* Host and GPU of a rank. */
struct rank_location {
    char host[65], pci[24]; /* pci "": it has no GPU */
};

/* Of the visible GPUs; without one, n is 0. */
int peaks_read(int local, struct peaks *peaks, struct gpubind_error *err);
/* Finds the location of this rank, which is the local-th of its node. */
void rank_location_find(int local, struct rank_location *location);
/* Fills next, partner and all from the locations of all ranks. NVML also reads the links of GPUs
 * that this rank does not see. */
void peaks_of_ranks(const struct rank_location *locations, int n, struct peaks *peaks);
/* Adds lines for people, with GPUs of the same peaks together. */
void peaks_print(const struct peaks *peaks, struct text *text);
/* Halves the memory's peak: the same bytes are read and written. */
void peak_halve(const struct peak *memory, struct peak *peak);

/* PCI Express by the attributes of sysfs, "32.0 GT/s PCIe" and "16". Other values: not known. */
void peak_of_bus(const char *speed, const char *width, struct peak *peak);
/* Double data rate: data moves on both edges of the clock. */
void peak_of_memory(int clock_khz, int bits, struct peak *peak);

#endif
