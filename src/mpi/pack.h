/* Strided data: moved as dense data from or to a buffer of the library's beside it. */
#ifndef GPUBIND_MPI_PACK_H
#define GPUBIND_MPI_PACK_H

#include "mpi/operation.h"

/* Makes the operation's buffer, count elements of shape, a dense one; for a send with
 * the data in it, unless it is gated. 0, or -1 with a sentence. */
int pack_make(struct gpubind_operation *operation, const struct type_shape *shape, uint64_t count,
              struct gpubind_error *err);
/* Puts the data of a send that was gated into it. */
int pack_gather(struct gpubind_operation *operation, struct gpubind_error *err);
/* After a receive: puts the data where they belong. */
int pack_spread(struct gpubind_operation *operation, struct gpubind_error *err);
void pack_free(struct pack *pack);

#endif
