/* Peak bandwidths of buses and memories, from their attributes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/main/peaks.h"
#include "core/base/idset.h"

/* GT/s, the name of the generation, and the efficiency of its encoding. */
static const struct generation {
    double speed;
    const char *name;
    double share;
} generations[] = {
    {2.5, "1.0", 0.8},        {5, "2.0", 0.8},          {8, "3.0", 128.0 / 130},
    {16, "4.0", 128.0 / 130}, {32, "5.0", 128.0 / 130}, {64, "6.0", 242.0 / 256},
};

void peak_of_bus(const char *speed, const char *width, struct peak *peak)
{
    double rate = strtod(speed, NULL);
    int lanes = atoi(width);

    memset(peak, 0, sizeof *peak);
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++) {
        const struct generation *generation = &generations[i];

        if (rate != generation->speed || lanes < 1 || lanes > 32)
            continue;
        peak->bytes_per_s = 1e9 * rate * lanes * generation->share / 8;
        snprintf(peak->why, sizeof peak->why, "PCIe %s x%d", generation->name, lanes);
    }
}

void peak_of_memory(int clock_khz, int bits, struct peak *peak)
{
    memset(peak, 0, sizeof *peak);
    if (clock_khz <= 0 || bits <= 0)
        return;
    peak->bytes_per_s = 2e3 * clock_khz * bits / 8;
    snprintf(peak->why, sizeof peak->why, "memory of %d bits at 2 x %d MHz", bits,
             clock_khz / 1000);
}

void peak_halve(const struct peak *memory, struct peak *peak)
{
    *peak = *memory;
    peak->bytes_per_s /= 2;
    if (peak->bytes_per_s > 0)
        snprintf(peak->why, sizeof peak->why, "half of %.80s", memory->why);
}

static void print_peak(const struct peak *peak, const char *what, struct text *text)
{
    if (peak->bytes_per_s > 0)
        text_add(text, "%s: %.1f GB/s (%s)", what, 1e-9 * peak->bytes_per_s, peak->why);
    else
        text_add(text, "%s: not known", what);
}

static bool is_same(const struct peak *a, const struct peak *b)
{
    return strcmp(a->why, b->why) == 0 && !(a->bytes_per_s < b->bytes_per_s) &&
           !(a->bytes_per_s > b->bytes_per_s);
}

/* Adds ", to GPU 1-7: 450.0 GB/s (18 NVLinks of 25 GB/s)" for each kind of link. */
static void print_pairs(const struct peaks *peaks, int i, struct text *text)
{
    const struct peak *pair = peaks->gpu[i].pair;
    struct idset said, same;
    char list[4 * PEAKS_MAX_GPUS], what[sizeof list + 16];

    idset_clear(&said);
    idset_add(&said, i);
    for (int j = 0; j < peaks->n; j++) {
        if (idset_has(&said, j))
            continue;
        idset_clear(&same);
        for (int k = j; k < peaks->n; k++)
            if (k != i && is_same(&pair[j], &pair[k]))
                idset_add(&same, k);
        idset_union(&said, &same);
        idlist_render(&same, list, sizeof list);
        snprintf(what, sizeof what, ", to GPU %s", list);
        print_peak(&pair[j], what, text);
    }
}

void peaks_print(const struct peaks *peaks, struct text *text)
{
    for (int i = 0; i < peaks->n; i++) {
        text_add(text, "GPU %d: %s, ", i, peaks->gpu[i].name);
        print_peak(&peaks->gpu[i].memory, "memory", text);
        print_peak(&peaks->gpu[i].bus, ", bus", text);
        print_pairs(peaks, i, text);
        text_add(text, "\n");
    }
}
