/* Samples of one measurement, in seconds, and their statistics. */
#ifndef GPUBIND_BENCH_LIB_STATS_H
#define GPUBIND_BENCH_LIB_STATS_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct samples {
    double *values;
    size_t n, size;
};

/* Of the times of an iteration, in microseconds: one way for latencies, a whole window otherwise.
 * Of several pairs, the slowest median. */
struct stats {
    double median, min, p99;
};

double seconds_now(void);
/* The number of repeats that fit into half a second: at most `most`, and at least a few. */
int repeats_that_fit(int most, double seconds);
/* Returns 0, or -1 when memory runs out. */
int samples_reserve(struct samples *samples, size_t n);
/* Drops samples beyond the reserved number. Makes no call, as it stands between time stamps. */
static inline void samples_add(struct samples *samples, double seconds)
{
    if (samples->n < samples->size)
        samples->values[samples->n++] = seconds;
}
/* In microseconds; sorts the samples. All 0 of an empty one. */
struct stats samples_stats(struct samples *samples);
void samples_clear(struct samples *samples);

#endif
