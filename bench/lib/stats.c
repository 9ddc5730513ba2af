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

int repeats_that_fit(int most, double seconds)
{
    if (seconds <= 0 || FIT_SECONDS / seconds >= most)
        return most;
    if (FIT_SECONDS / seconds > FIT_LEAST)
        return (int)(FIT_SECONDS / seconds);
    return most < FIT_LEAST ? most : FIT_LEAST;
}

int samples_reserve(struct samples *samples, size_t n)
{
    double *values;

    if (n <= samples->size)
        return 0;
    values = realloc(samples->values, n * sizeof *values);
    if (!values)
        return -1;
    samples->values = values;
    samples->size = n;
    return 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct stats samples_stats(struct samples *samples)
{
    struct stats stats = {0, 0, 0};
    size_t n = samples->n;

    if (!n)
        return stats;
    qsort(samples->values, n, sizeof *samples->values, compare);
    stats.min = 1e6 * samples->values[0];
    stats.median = 0.5e6 * (samples->values[(n - 1) / 2] + samples->values[n / 2]);
    /* The smallest sample that 99 % do not exceed. */
    stats.p99 = 1e6 * samples->values[(99 * n + 99) / 100 - 1];
    return stats;
}

void samples_clear(struct samples *samples)
{
    free(samples->values);
    memset(samples, 0, sizeof *samples);
}
