/* What the machine's memory and links could do at most, as it says itself. */
#ifndef GPUBIND_BIN_BENCH_LIMITS_H
#define GPUBIND_BIN_BENCH_LIMITS_H

#include <stddef.h>

#include "core/error.h"
#include "core/text.h"

#define LIMITS_MAX_GPUS 32

struct limit {
    double bytes_per_s; /* one way; 0: not known */
    char why[96];       /* "18 NVLinks of 25 GB/s" */
};

struct limits {
    int n;   /* visible GPUs */
    int own; /* the one that rank 0 uses */
    struct {
        char name[200]; /* with its address and its driver */
        char pci[24];
        struct limit memory, bus;
        struct limit pair[LIMITS_MAX_GPUS]; /* to each other GPU */
    } gpu[LIMITS_MAX_GPUS];
};

/* Of the visible GPUs; without one, n is 0. */
int limits_read(int local, struct limits *limits, struct gpubind_error *err);
/* Lines for people. */
void limits_print(const struct limits *limits, struct text *text);

/* PCI Express from what sysfs says: "32.0 GT/s PCIe" and "16". Not known otherwise. */
void limit_of_bus(const char *speed, const char *width, struct limit *limit);
/* Data is moved on both edges of the clock. */
void limit_of_memory(int clock_khz, int bits, struct limit *limit);

#endif
