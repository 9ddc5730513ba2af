/* Memory that another rank has mapped is freed: while the mapping is there, other memory at those addresses cannot be
 * mapped. For tests of two ranks or more, of which rank 1 maps memory of rank 0's. */
#ifndef GPUBIND_TESTS_MPI_IN_WAY_H
#define GPUBIND_TESTS_MPI_IN_WAY_H

#include "tests/mpi/job.h"

enum { MAPPED_MOST = 8 };

/* Rank 0 sends the buffer to rank 1's, which maps it if that is possible. */
void pass_mapped(const struct buffer *buffer);
/* On the simulated driver, this rank maps so many allocations at least. */
void expect_mapped(int least);
/* Rank 1 maps n buffers of rank 0's, which are freed then. Returns where the last one was. */
char *map_and_free(int n, int nbytes);

#endif
