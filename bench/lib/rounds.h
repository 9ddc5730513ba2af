/* Several methods for the same work, measured in turns, so that whatever changes on the machine meanwhile
 * meets all of them. */
#ifndef GPUBIND_BENCH_LIB_ROUNDS_H
#define GPUBIND_BENCH_LIB_ROUNDS_H

#include <mpi.h>

#include "bench/lib/options.h"
#include "bench/lib/stats.h"

#define ROUNDS_MOST 2000 /* iterations, unless --iterations says otherwise */
#define ROUNDS_LEAST 8
#define ROUNDS_METHODS 8

struct rounds {
    MPI_Comm comm; /* of the ranks that take part */
    const struct bench_options *options;
    /* One iteration by a method, after a barrier. */
    void (*once)(const void *work, int method);
    const void *work;
};

struct round_result {
    int iterations;  /* the same on all ranks */
    struct stats us; /* of the slowest rank in each iteration; valid on rank 0 of comm alone */
};

/* Measures the n methods, which are numbers for once: as many iterations as --iterations says or fit into
 * --time on the slowest rank, a quarter of them at a time, behind --warmup others. Collective over comm. */
void rounds_measure(const struct rounds *rounds, const int methods[], int n,
                    struct round_result results[]);

#endif
