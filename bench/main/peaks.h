/* What the machine's memory and links could do at most, as it says itself. */
#ifndef GPUBIND_BENCH_MAIN_PEAKS_H
#define GPUBIND_BENCH_MAIN_PEAKS_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/text.h"

#define LIMITS_MAX_GPUS 32

struct limit {
    double bytes_per_s; /* one way; 0: not known */
    char why[96];       /* "18 NVLinks of 25 GB/s" */
};

struct limits {
    int n;   /* visible GPUs */
    int own; /* the one that rank 0 uses */
    /* From rank 0 to rank 1, to its partner in pt2pt, and to all other ranks together. A
     * rank alone, or of the same GPU, is reached within the GPU's memory. */
    struct limit next, partner, all;
    struct {
        char name[200]; /* with its address and its driver */
        char pci[24];
        struct limit memory, bus;
        struct limit out; /* all of its NVLinks, or its bus */
        struct limit pair[LIMITS_MAX_GPUS]; /* to each other GPU */
    } gpu[LIMITS_MAX_GPUS];
};

/* Where a rank computes. */
struct limits_place {
    char host[65], pci[24]; /* pci "": it has no GPU */
};

/* Of the visible GPUs; without one, n is 0. */
int limits_read(int local, struct limits *limits, struct gpubind_error *err);
/* The place of this rank, which is the local-th of its node. */
void limits_find_place(int local, struct limits_place *place);
/* Fills next, partner and all from the places of all ranks. Links are read by NVML, also
 * those of GPUs that this rank does not see. */
void limits_of_ranks(const struct limits_place *places, int n, struct limits *limits);
/* Lines for people: GPUs that others reach in the same way share a phrase. */
void limits_print(const struct limits *limits, struct text *text);
/* The same bytes are read and written. */
void limit_halve(const struct limit *memory, struct limit *limit);

/* PCI Express from what sysfs says: "32.0 GT/s PCIe" and "16". Not known otherwise. */
void limit_of_bus(const char *speed, const char *width, struct limit *limit);
/* Data is moved on both edges of the clock. */
void limit_of_memory(int clock_khz, int bits, struct limit *limit);

#endif
