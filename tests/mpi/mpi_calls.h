/* Calls of MPI that block until the other rank comes, or is through with its own. */
#ifndef GPUBIND_TESTS_MPI_MPI_CALLS_H
#define GPUBIND_TESTS_MPI_MPI_CALLS_H

#include <mpi.h>
#include <stdbool.h>

/* Rank 0 is in the call until rank 1 comes; both check what it gave. */
struct mpi_call {
    const char *name;
    void (*run)(MPI_Comm comm, int rank);
    bool alone;  /* not by two threads at once, in some MPI */
    bool window; /* needs mpi_makes_windows */
};

extern const struct mpi_call mpi_calls[];
extern const int mpi_ncalls;

/* Open MPI has no way of its own for them where processes may not read each other's memory.
 * Collective. */
bool mpi_makes_windows(MPI_Comm comm);
/* Frees what they keep. */
void mpi_calls_end(void);

#endif
