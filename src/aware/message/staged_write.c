/* Copies what MPI has written to the GPU: all of a buffer, or each part when it has come. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "aware/memory/gpu_buffer.h"
#include "aware/message/staged_part.h"
#include "mpi/datatype/type_contents.h"

/* The first nbytes of a part. */
static int write_bytes(const struct staged *staged, const struct staged_part *part,
                       MPI_Count nbytes)
{
    const struct staged_span span = staged_span_of(part);
    const struct typed typed = staged_typed_of(staged->user, part);

    if (nbytes == 0)
        return MPI_SUCCESS;
    if (staged->dense)
        return typed_unpack(&typed, staged->block.at, nbytes);
    /* The first bytes of a type need not be the first ones in memory. */
    if (staged_bytes_of(part) != span.high - span.low || staged_is_absolute(staged) ||
        (nbytes < staged_bytes_of(part) && !type_is_basic(part->type)))
        return typed_write(&typed, address_at(staged->host, part->displacement), nbytes);
    return buffer_to_gpu(address_at(staged->user, span.low), address_at(staged->host, span.low),
                         (size_t)nbytes) < 0
               ? MPI_ERR_BUFFER
               : MPI_SUCCESS;
}

int staged_write(struct staged *staged, MPI_Count nbytes)
{
    int result = MPI_SUCCESS;

    if (!staged->staged || !(staged->use & STAGED_WRITTEN))
        return MPI_SUCCESS;
    for (int i = 0; i < staged->nparts; i++) {
        const MPI_Count all = staged_bytes_of(&staged->parts[i]);
        int status;

        status = staged->written ? staged_write_part(staged, i)
                                 : write_bytes(staged, &staged->parts[i],
                                               nbytes >= 0 && nbytes < all ? nbytes : all);
        if (result == MPI_SUCCESS)
            result = status;
    }
    return result;
}

/* ---- partitions */

enum { PART_COMES, PART_BEING_WRITTEN, PART_WRITTEN };

int staged_keep_written(struct staged *staged)
{
    if (!staged->staged)
        return MPI_SUCCESS;
    staged->written = calloc((size_t)staged->nparts, sizeof *staged->written);
    if (staged->written)
        return MPI_SUCCESS;
    staged_end(staged);
    return MPI_ERR_NO_MEM;
}

/* Where two threads ask for a part, one copies it, and neither is told of it before it is there. */
int staged_write_part(const struct staged *staged, int part)
{
    _Atomic unsigned char *state = &staged->written[part];
    unsigned char was = PART_COMES;
    int result;

    while (!atomic_compare_exchange_strong(state, &was, PART_BEING_WRITTEN)) {
        if (was == PART_WRITTEN)
            return MPI_SUCCESS;
        sched_yield();
        was = PART_COMES;
    }
    result = write_bytes(staged, &staged->parts[part], staged_bytes_of(&staged->parts[part]));
    atomic_store(state, result == MPI_SUCCESS ? PART_WRITTEN : PART_COMES);
    return result;
}

void staged_restart(const struct staged *staged)
{
    for (int i = 0; staged->written && i < staged->nparts; i++)
        atomic_store(&staged->written[i], PART_COMES);
}
