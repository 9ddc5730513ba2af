/* The subcommand halo: grids, and the ways in which their ghost cells are exchanged. */
#ifndef GPUBIND_BENCH_CASES_HALO_H
#define GPUBIND_BENCH_CASES_HALO_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/lib/gpu.h"
#include "mpi/gpubind.h"

enum halo_method { HALO_HOST, HALO_STREAM, HALO_GRAPH, HALO_METHODS };

#define HALO_BATCH 20 /* exchanges that are timed together: half of them for each array */

/* A halo exchange of one grid, on this rank of comm. */
struct halo_case {
    MPI_Comm comm;
    const struct bench_gpu *gpu;
    struct gpubind_halo_grid grid;
    gpubind_halo halo;
    void *arrays[2];
    size_t nbytes; /* of an array */
    int batches;
};

struct halo_result {
    double us; /* an exchange, on the slowest rank: the median over batches */
    int times;
};

/* Allocates arrays of doubles, which hold the rank's number, and makes the halo. Returns 0, or -1
 * with err. All functions here are collective; this one and halo_case_run return the status of this
 * rank alone. */
int halo_case_make(struct halo_case *one, struct gpubind_error *err);
void halo_case_clear(struct halo_case *one);
/* Returns 0; 1, the same on all ranks, if the method is not possible, for the reason in err; -1 if
 * a call failed. */
int halo_case_run(struct halo_case *one, enum halo_method method, struct halo_result *result,
                  struct gpubind_error *err);
/* Returns 0 if every ghost cell holds the number of the rank it came from, 1 if not, or -1. */
int halo_case_check(struct halo_case *one, struct gpubind_error *err);
/* Bytes that this rank sends in an exchange. */
double halo_case_bytes(const struct halo_case *one);

#endif
