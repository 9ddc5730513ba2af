/* GPU memory of this process that peers map. Any thread may call this. */
#ifndef GPUBIND_AWARE_DIRECT_EXPORT_H
#define GPUBIND_AWARE_DIRECT_EXPORT_H

#include "aware/message/direct_segment.h"
#include "gpu/core/pointer_query.h"

/* What a peer needs to map GPU memory of this process, which lies in the allocation. false: it cannot be mapped,
 * as that of pools. */
bool direct_export(const void *gpu, size_t nbytes, const struct allocation *allocation,
                   struct direct_export *shared);

#endif
