/* Samples of one measure, in seconds. */
#ifndef GPUBIND_BENCH_LIB_STATS_H
#define GPUBIND_BENCH_LIB_STATS_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct series {
    double *samples;
    size_t n, size;
};

/* How long one iteration took: microseconds, one way for latencies, a whole window for
 * the others. Of several pairs, the slowest median. */
struct spread {
    double median, min, p99;
};

double seconds_now(void);
/* How often something that takes so long fits into half a second: most at most, and a
 * few times at least. */
int series_fit(int most, double seconds);
/* Returns 0, or -1 when memory runs out. */
int series_reserve(struct series *series, size_t n);
/* Within what was reserved; makes no call, as it stands between two times. */
static inline void series_add(struct series *series, double seconds)
{
    if (series->n < series->size)
        series->samples[series->n++] = seconds;
}
/* In microseconds; sorts the samples. All 0 of an empty one. */
struct spread series_spread(struct series *series);
void series_clear(struct series *series);

#endif
