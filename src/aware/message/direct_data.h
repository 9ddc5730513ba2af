/* The data of a message that is to go directly (direct_send.h): GPU memory, where it lies together. */
#ifndef GPUBIND_AWARE_DIRECT_DATA_H
#define GPUBIND_AWARE_DIRECT_DATA_H

#include "aware/memory/gpu_pool.h"
#include "aware/memory/typed.h"
#include "aware/message/direct_export.h"

/* Bytes of the shortest message; and of the shortest one that is not small (direct_segment.h). */
#define DIRECT_LEAST ((MPI_Count)sizeof(uint64_t))
#define DIRECT_LARGE ((MPI_Count)DIRECT_SMALL_ROOM)

struct direct_data {
    struct typed typed; /* the application's buffer */
    MPI_Count nbytes;
    const void *gpu; /* the first byte; of data that is to be packed, some byte */
    struct allocation allocation;
    struct direct_export memory; /* of a peer's mapping */
    bool gaps;                   /* which small messages do not have */
    struct gpu_block *packed;    /* that it was packed in; NULL: it lies in the buffer */
};

/* false: it is not in GPU memory, or cannot go directly for another reason that the buffer shows. */
bool direct_data_find(struct direct_data *data, const void *buf, MPI_Count count,
                      MPI_Datatype type);
/* Packs it where it has gaps. Earlier work of the legacy stream is done, then. false: it cannot go directly;
 * otherwise the block is for the caller to give back. */
bool direct_data_prepare(struct direct_data *data);

#endif
