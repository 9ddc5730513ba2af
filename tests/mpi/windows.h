/* What the tests of windows share. */
#ifndef GPUBIND_TESTS_MPI_WINDOWS_H
#define GPUBIND_TESTS_MPI_WINDOWS_H

#include "tests/mpi/job.h"

enum { WINDOW_BYTES = 70001, WINDOW_SIGNALS = 5 };

extern struct CUstream_st *stream; /* of this rank's GPU */

void sync_stream(void);
gpubind_win window_make(MPI_Comm comm, size_t nbytes, int nsignals);
void window_discard(gpubind_win *win);
void *window_pointer(gpubind_win win, int rank);

/* reached: all ranks have pointers to each other. */
void windows_on_streams(bool reached);

#endif
