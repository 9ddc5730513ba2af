/* Synchronous copies and fills of the application that return before they are done.
 *
 * cudaMemcpy from a little pageable memory, between GPU memories, and cudaMemset return while
 * the GPU still writes. A message must not be sent with the data from before such a call, nor
 * be overwritten by it after it was received; and no MPI requires a program to synchronise after
 * it. The driver waits in such calls where that is enabled: for one allocation of cuMemAlloc by
 * CU_POINTER_ATTRIBUTE_SYNC_MEMOPS; for memory of pools (which accepts the attribute without an
 * effect) and of cuMemCreate (which refuses it) for the whole context by CU_CTX_SYNC_MEMOPS. Both
 * observed on H200, driver 580; it is done once. */
#ifndef GPUBIND_GPU_CORE_SYNC_MEMOPS_H
#define GPUBIND_GPU_CORE_SYNC_MEMOPS_H

#include "gpu/core/mem_query.h"

/* From now on such calls for the allocation are complete when they return. true: they were not
 * before, and earlier ones may be under way in the legacy stream. */
bool sync_memops_enable(const struct memory *memory);
/* Waits for those, for a short time: the stream may itself wait for the library. */
void sync_memops_settle(const struct memory *memory);

/* Both, of the allocation that GPU memory lies in, without a struct gpu; any thread may call it. To be
 * called for memory that pointer_kind says to be not synchronous. */
void sync_memops_ensure(const void *pointer);

#endif
