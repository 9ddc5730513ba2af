/* What was measured: rows, and what they were measured on. */
#ifndef GPUBIND_BENCH_PT2PT_RESULT_H
#define GPUBIND_BENCH_PT2PT_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/lib/options.h"
#include "bench/lib/stats.h"

/* Who moved the bytes. */
enum method { METHOD_GPUBIND, METHOD_MPI, METHOD_COPY, METHODS };

struct result {
    enum measure measure;
    size_t nbytes;
    int window; /* 1 for blocking messages */
    struct method_result {
        bool measured;
        int iterations;
        struct stats us;
        double bytes_per_s;    /* of all pairs and directions */
        double messages_per_s; /* likewise */
        bool checked, wrong;   /* the data that arrived */
    } by[METHODS];
};

struct report {
    const struct bench_options *options;
    const char *copy_name; /* of METHOD_COPY; NULL where there is none */
    int nranks, npairs;
    double start_ms; /* MPI_Init, of the slowest rank */
    double gpu_ms;   /* the context, if MPI_Init did not make it; likewise */
    const char *gpu_name; /* of rank 0; "" where it has none */
    char *machine;   /* lines, each with its newline */
    struct result *results;
    int nresults;
};

const char *measure_word(enum measure measure);
const char *method_word(const struct report *report, enum method method);
/* How many times as long as the other took; 0 where one is missing. */
double result_ratio(const struct result *result, enum method method, enum method to);

#endif
