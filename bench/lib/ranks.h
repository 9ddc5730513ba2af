/* The ranks of a run and their pairs. */
#ifndef GPUBIND_BENCH_LIB_RANKS_H
#define GPUBIND_BENCH_LIB_RANKS_H

#include <mpi.h>
#include <stdbool.h>

#include "core/base/error.h"

struct ranks {
    int rank, n, local;
    int npairs; /* pairs that work at once */
    int pair;   /* this rank's; -1: it only waits */
    int peer;
    bool lower;       /* the first of its pair: sends first, and measures */
    bool one_node;    /* the two of the pair */
    MPI_Comm working; /* the ranks that do not only wait; MPI_COMM_NULL on those */
};

/* Initialises MPI; plain: by PMPI, past the library. Returns the milliseconds it took on the
 * slowest rank. */
double ranks_start(bool plain);
void ranks_end(bool plain);

/* This rank's number on its node. Collective over MPI_COMM_WORLD. */
int ranks_local(void);

/* Pairs rank i with i + n/2. Collective; returns the same on all ranks. */
int ranks_pair(bool all, struct ranks *ranks, struct gpubind_error *err);
/* Frees the communicators. */
void ranks_clear(struct ranks *ranks);

/* Collective over comm. Returns 0 on all ranks if status is 0 on all; else the status and err of
 * the lowest rank whose status is not 0. */
int ranks_agree(MPI_Comm comm, int status, struct gpubind_error *err);

/* Prints the error with this rank's number, and aborts the job. */
void ranks_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Does so with the library's sentence, which begins with the call, unless its status is MPI_SUCCESS. */
void ranks_need(int status);

#endif
