/* Synchronous copies and fills of the application that return before they are done.
 *
 * cudaMemcpy from a little pageable memory, between GPU memories, and cudaMemset return while
 * the GPU still writes. What such a call has returned from must not be sent as it was before,
 * nor written over what was received; and no MPI asks a program to synchronise after it. The
 * driver waits in them for memory that was told so: one allocation of cuMemAlloc by
 * CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, and for memory of pools (which takes the attribute, and
 * has nothing of it) and of cuMemCreate (which does not take it) the whole context by
 * CU_CTX_SYNC_MEMOPS. Both seen on H200, driver 580; no later message pays for it. */
#ifndef GPUBIND_GPU_CORE_SYNC_MEMOPS_H
#define GPUBIND_GPU_CORE_SYNC_MEMOPS_H

#include "gpu/core/mem_query.h"

/* From now on such calls for the allocation are done when they return. true: it was not so
 * before, and earlier ones may be under way in the legacy stream. */
bool sync_memops_enable(const struct memory *memory);
/* Waits for those, if that is not long; where the stream waits for us it cannot be. */
void sync_memops_settle(const struct memory *memory);

#endif
