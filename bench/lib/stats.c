#include "bench/lib/stats.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define FIT_SECONDS 0.5
#define FIT_LEAST 5

int series_fit(int most, double seconds)
{
    if (seconds <= 0 || FIT_SECONDS / seconds >= most)
        return most;
    if (FIT_SECONDS / seconds > FIT_LEAST)
        return (int)(FIT_SECONDS / seconds);
    return most < FIT_LEAST ? most : FIT_LEAST;
}

int series_reserve(struct series *series, size_t n)
{
    double *samples;

    if (n <= series->size)
        return 0;
    samples = realloc(series->samples, n * sizeof *samples);
    if (!samples)
        return -1;
    series->samples = samples;
    series->size = n;
    return 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct spread series_spread(struct series *series)
{
    struct spread spread = {0, 0, 0};
    size_t n = series->n;

    if (!n)
        return spread;
    qsort(series->samples, n, sizeof *series->samples, compare);
    spread.min = 1e6 * series->samples[0];
    spread.median = 0.5e6 * (series->samples[(n - 1) / 2] + series->samples[n / 2]);
    /* The smallest that 99 of 100 do not exceed. */
    spread.p99 = 1e6 * series->samples[(99 * n + 99) / 100 - 1];
    return spread;
}

void series_clear(struct series *series)
{
    free(series->samples);
    memset(series, 0, sizeof *series);
}
