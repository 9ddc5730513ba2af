/* TAP of a program of several ranks: each counts its faults, rank 0 prints a result of all. */
#ifndef GPUBIND_TESTS_AWARE_TAP_RANKS_H
#define GPUBIND_TESTS_AWARE_TAP_RANKS_H

#include <mpi.h>

#include "tests/tap.h"

static int rank, size;
static int wrong; /* faults of this rank since the last result */

/* Collective over MPI_COMM_WORLD. */
static void result(const char *what)
{
    int all;

    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        tap_ok(all == 0, "%s", what);
    wrong = 0;
}

#endif
