#include "aware/staged.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aware/gpu_buffer.h"
#include "mpi/gpubind.h"

/* From the first byte of a part to behind its last, as displacements in the buffer. */
struct span {
    MPI_Aint low, high;
};

static struct span span_of(const struct staged_part *part)
{
    MPI_Count lb, extent, true_lb, true_extent, steps;
    struct span span;

    if (part->count == 0)
        return (struct span){part->displacement, part->displacement};
    PMPI_Type_get_extent_x(part->type, &lb, &extent);
    PMPI_Type_get_true_extent_x(part->type, &true_lb, &true_extent);
    steps = (part->count - 1) * extent; /* which may be negative */
    span.low = part->displacement + true_lb + (steps < 0 ? steps : 0);
    span.high = part->displacement + true_lb + (steps > 0 ? steps : 0) + true_extent;
    return span;
}

static MPI_Count bytes_of(const struct staged_part *part)
{
    MPI_Count size;

    PMPI_Type_size_x(part->type, &size);
    return size * part->count;
}

/* MPI_BOTTOM's parts say where they are; any other buffer is one piece of memory. */
static bool is_on_gpu(const char *user, int nparts, const struct staged_part *parts)
{
    if (user != (const char *)MPI_BOTTOM)
        return buffer_is_on_gpu(user);
    for (int i = 0; i < nparts; i++)
        if (parts[i].count > 0 && buffer_is_on_gpu(user + span_of(&parts[i]).low))
            return true;
    return false;
}

static bool is_predefined(MPI_Datatype type)
{
    int integers, addresses, types, combiner;

    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

/* The parts outlive the call, and so must their types. */
static void keep_types(struct staged *staged)
{
    for (int i = 0; i < staged->nparts; i++)
        if (!is_predefined(staged->parts[i].type))
            PMPI_Type_dup(staged->parts[i].type, &staged->parts[i].type);
    staged->own_types = true;
}

static void free_types(struct staged *staged)
{
    for (int i = 0; i < staged->nparts && staged->own_types; i++)
        if (!is_predefined(staged->parts[i].type))
            PMPI_Type_free(&staged->parts[i].type);
}

static int allocate(struct staged *staged)
{
    MPI_Aint low = 0, high = 0;
    bool first = true;

    for (int i = 0; i < staged->nparts; i++) {
        const struct span span = span_of(&staged->parts[i]);

        if (staged->parts[i].count == 0)
            continue;
        low = first || span.low < low ? span.low : low;
        high = first || span.high > high ? span.high : high;
        first = false;
    }
    staged->low = low;
    staged->nbytes = (size_t)(high - low);
    staged->memory = host_take(staged->nbytes);
    if (!staged->memory)
        return MPI_ERR_NO_MEM;
    staged->host = (char *)((uintptr_t)staged->memory - (uintptr_t)low);
    return MPI_SUCCESS;
}

int staged_read(struct staged *staged)
{
    for (int i = 0; i < staged->nparts; i++) {
        const struct span span = span_of(&staged->parts[i]);

        if (span.high > span.low && buffer_to_host(staged->host + span.low, staged->user + span.low,
                                                   (size_t)(span.high - span.low)) < 0)
            return MPI_ERR_BUFFER;
    }
    return MPI_SUCCESS;
}

int staged_begin_parts(struct staged *staged, const void *user, int nparts,
                       const struct staged_part *parts, unsigned use, bool later)
{
    int result;

    *staged = (struct staged){.user = (char *)(uintptr_t)user,
                              .host = (char *)(uintptr_t)user,
                              .use = use,
                              .nparts = nparts,
                              .parts = &staged->part};
    if (!is_on_gpu(user, nparts, parts))
        return MPI_SUCCESS;
    if (nparts != 1)
        staged->parts = malloc((size_t)nparts * sizeof *parts);
    if (!staged->parts)
        return MPI_ERR_NO_MEM;
    memcpy(staged->parts, parts, (size_t)nparts * sizeof *parts);
    result = allocate(staged);
    if (result == MPI_SUCCESS && later)
        keep_types(staged);
    if (result == MPI_SUCCESS && use & STAGED_READ)
        result = staged_read(staged);
    if (result != MPI_SUCCESS)
        staged_end(staged);
    return result;
}

int staged_begin(struct staged *staged, const void *user, MPI_Count count, MPI_Datatype type,
                 unsigned use, bool later)
{
    const struct staged_part part = {0, count, type};

    return staged_begin_parts(staged, user, 1, &part, use, later);
}

/* Between two layouts of this process: a message to itself, which libgpubind scatters. */
static int move(const void *from, MPI_Count nfrom, MPI_Datatype from_type, void *to, MPI_Count nto,
                MPI_Datatype to_type)
{
    return gpubind_sendrecv_c(from, nfrom, from_type, 0, 0, to, nto, to_type, 0, 0, MPI_COMM_SELF,
                              MPI_STATUS_IGNORE);
}

/* The first nbytes of a part whose elements have gaps, which stay as they are. */
static int write_elements(const struct staged *staged, const struct staged_part *part,
                          MPI_Count nbytes)
{
    MPI_Count lb, extent, size;
    MPI_Aint behind;
    char *packed;
    int position = 0, result = MPI_SUCCESS;

    PMPI_Type_get_extent_x(part->type, &lb, &extent);
    PMPI_Type_size_x(part->type, &size);
    if (nbytes / size > 0)
        result = move(staged->host + part->displacement, nbytes / size, part->type,
                      staged->user + part->displacement, nbytes / size, part->type);
    if (result != MPI_SUCCESS || nbytes % size == 0)
        return result;
    behind = part->displacement + nbytes / size * extent; /* an element that came in part */
    packed = malloc((size_t)size);
    if (!packed)
        return MPI_ERR_NO_MEM;
    PMPI_Pack(staged->host + behind, 1, part->type, packed, (int)size, &position, MPI_COMM_SELF);
    result = move(packed, nbytes % size, MPI_BYTE, staged->user + behind, 1, part->type);
    free(packed);
    return result;
}

static int write_part(const struct staged *staged, const struct staged_part *part, MPI_Count nbytes)
{
    const struct span span = span_of(part);

    if (nbytes == 0)
        return MPI_SUCCESS;
    if (bytes_of(part) != span.high - span.low)
        return write_elements(staged, part, nbytes);
    return buffer_to_gpu(staged->user + span.low, staged->host + span.low, (size_t)nbytes) < 0
               ? MPI_ERR_BUFFER
               : MPI_SUCCESS;
}

int staged_write(struct staged *staged, MPI_Count nbytes)
{
    int result = MPI_SUCCESS;

    for (int i = 0; i < staged->nparts && staged->memory && staged->use & STAGED_WRITTEN; i++) {
        const MPI_Count all = bytes_of(&staged->parts[i]);
        const int status = write_part(staged, &staged->parts[i],
                                      nbytes >= 0 && nbytes < all ? nbytes : all);

        if (result == MPI_SUCCESS)
            result = status;
    }
    return result;
}

void staged_end(struct staged *staged)
{
    if (staged->memory) {
        free_types(staged);
        host_give(staged->memory, staged->nbytes);
    }
    if (staged->parts != &staged->part)
        free(staged->parts);
    staged->memory = NULL;
    staged->parts = &staged->part;
    staged->nparts = 0;
}
