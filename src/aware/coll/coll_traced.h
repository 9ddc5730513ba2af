/* The bytes that a trace tells of a collective call: those that this rank gives, or gets where it gives none,
 * by the call's arguments. 0 where these are wrong. */
#ifndef GPUBIND_AWARE_COLL_TRACED_H
#define GPUBIND_AWARE_COLL_TRACED_H

#include "aware/base/traced.h"
#include "aware/coll/coll_blocks.h"

/* The call is an event, of a function of that name. */
void traced_collective(struct traced *call, const char *name, MPI_Count nbytes);

/* One block, for MPI_ROOT those of the other group; where its buffer is MPI_IN_PLACE, this rank's of the others. */
MPI_Count bytes_of_own(const struct coll *coll, struct coll_blocks block,
                       struct coll_blocks others);
/* Of all ranks; where their buffer is MPI_IN_PLACE, the others. */
MPI_Count bytes_of_all(const struct coll *coll, struct coll_blocks blocks,
                       struct coll_blocks others);
/* All blocks of the root, the one of another rank. */
MPI_Count bytes_scattered(const struct coll *coll, struct coll_blocks blocks,
                          struct coll_blocks block);
/* A block for each rank of this one's group. */
MPI_Count bytes_of_group(const struct coll *coll, struct coll_blocks blocks);
MPI_Count bytes_to_neighbours(const struct coll *coll, struct coll_blocks blocks);

#endif
