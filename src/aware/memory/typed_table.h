/* The blocks of irregular types as tables in GPU memory, for the iov kernel; kept with the types. Any thread
 * may call these. */
#ifndef GPUBIND_AWARE_TYPED_TABLE_H
#define GPUBIND_AWARE_TYPED_TABLE_H

#include <stdbool.h>

#include "gpu/copy/iov_launch.h"
#include "mpi/datatype/type_flatten.h"

struct typed_table;

/* The end of a copy whose elements, of those blocks and extent bytes apart, begin at an address; their table is
 * made in the context, which is current, and added to the list, where it is not. Adds to the bits of alignment.
 * false: there is no memory for it (GPUBIND_PACK_MEMORY). */
bool typed_table_end(struct typed_table **list, const struct type_parts *parts, int64_t extent,
                     gpu_context context, gpu_address address, struct iov_kernel_end *end,
                     uint64_t *alignment);
/* No kernel reads them any more. May be called within MPI: makes no call of the driver. */
void typed_tables_free(struct typed_table *list);

#endif
