/* Samples of one measure, in seconds. */
#ifndef GPUBIND_BENCH_LIB_STATS_H
#define GPUBIND_BENCH_LIB_STATS_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct samples {
    double *values;
    size_t n, size;
};

/* How long one iteration took: microseconds, one way for latencies, a whole window for
 * the others. Of several pairs, the slowest median. */
struct stats {
    double median, min, p99;
};

double seconds_now(void);
/* How often something that takes so long fits into half a second: most at most, and a
 * few times at least. */
int repeats_that_fit(int most, double seconds);
/* Returns 0, or -1 when memory runs out. */
int samples_reserve(struct samples *samples, size_t n);
/* Within what was reserved; makes no call, as it stands between two times. */
static inline void samples_add(struct samples *samples, double seconds)
{
    if (samples->n < samples->size)
        samples->values[samples->n++] = seconds;
}
/* In microseconds; sorts the samples. All 0 of an empty one. */
struct stats samples_stats(struct samples *samples);
void samples_clear(struct samples *samples);

#endif
