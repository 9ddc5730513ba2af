#include "aware/message/staged_part.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aware/memory/gpu_buffer.h"
#include "aware/memory/typed_shape.h"
#include "aware/message/direct_receive.h"
#include "mpi/datatype/type_contents.h"

MPI_Count staged_bytes_of(const struct staged_part *part)
{
    const struct typed typed = typed_at(NULL, 0, part->count, part->type);

    return typed_bytes(&typed);
}

struct staged_span staged_span_of(const struct staged_part *part)
{
    MPI_Count lb, extent, low, high, steps;
    struct staged_span span;

    if (part->count == 0 || staged_bytes_of(part) == 0) /* a type without data may have an extent */
        return (struct staged_span){part->displacement, part->displacement};
    PMPI_Type_get_extent_x(part->type, &lb, &extent);
    typed_shape_bounds(part->type, &low, &high);
    steps = (part->count - 1) * extent; /* which may be negative */
    span.low = part->displacement + low + (steps < 0 ? steps : 0);
    span.high = part->displacement + high + (steps > 0 ? steps : 0);
    return span;
}

struct typed staged_typed_of(const char *user, const struct staged_part *part)
{
    return typed_at(user, part->displacement, part->count, part->type);
}

/* MPI is to find the error in the call's arguments. MPICH takes no type where there are no elements. */
static bool is_wrong(MPI_Count count, MPI_Datatype type)
{
    return count < 0 || (type == MPI_DATATYPE_NULL && count > 0);
}

static bool is_any_wrong(int nparts, const struct staged_part *parts)
{
    for (int i = 0; i < nparts; i++)
        if (is_wrong(parts[i].count, parts[i].type))
            return true;
    return false;
}

/* MPI_BOTTOM's parts say where they are. */
static bool is_any_on_gpu(const char *user, int nparts, const struct staged_part *parts)
{
    for (int i = 0; i < nparts; i++) {
        const struct typed typed = staged_typed_of(user, &parts[i]);

        if (parts[i].count > 0 && typed_is_on_gpu(&typed))
            return true;
    }
    return false;
}

/* A byte of a buffer, which is one piece of memory, but may begin outside of it. NULL: it has none.
 */
static const char *byte_of(const char *user, int nparts, const struct staged_part *parts)
{
    for (int i = 0; i < nparts; i++) {
        const struct staged_span span = staged_span_of(&parts[i]);

        if (span.high > span.low)
            return address_at(user, span.low);
    }
    return NULL;
}

int staged_refuse_lost(const void *user)
{
    fprintf(stderr,
            "gpubind: the buffer at %p of an MPI call is not memory of this process (GPU memory "
            "that was freed?)\n",
            user);
    return MPI_ERR_BUFFER;
}

/* The parts outlive the call, and so must their types. */
static void keep_types(struct staged *staged)
{
    for (int i = 0; i < staged->nparts; i++)
        if (!type_is_basic(staged->parts[i].type))
            staged->parts[i].type = typed_shape_same(staged->parts[i].type);
}

static void free_types(struct staged *staged)
{
    for (int i = 0; i < staged->nparts; i++)
        if (!type_is_basic(staged->parts[i].type))
            PMPI_Type_free(&staged->parts[i].type);
}

bool staged_is_absolute(const struct staged *staged)
{
    return staged->user == (const char *)MPI_BOTTOM;
}

/* The bytes alone, where there are gaps that they may be sent without, or memory of both kinds. */
static bool wants_dense(const struct staged *staged)
{
    const struct typed typed = staged_typed_of(staged->user, &staged->part);
    struct staged_span span;
    MPI_Count nbytes;

    if (staged->nparts != 1 || !(staged->use & STAGED_DENSE))
        return false;
    nbytes = staged_bytes_of(&staged->part);
    span = staged_span_of(&staged->part);
    if (nbytes > INT_MAX || staged_is_absolute(staged))
        return nbytes <= INT_MAX;
    return nbytes != span.high - span.low &&
           !(staged->use & STAGED_READ && typed_needs_whole_elements(&typed));
}

static int allocate_dense(struct staged *staged)
{
    const MPI_Count nbytes = staged_bytes_of(&staged->part);

    if (!host_take(&staged->block, (size_t)nbytes,
                   address_at(staged->user, staged_span_of(&staged->part).low)))
        return MPI_ERR_NO_MEM;
    staged->dense = true;
    staged->host = staged->block.at;
    staged->count = nbytes;
    staged->type = MPI_PACKED;
    return MPI_SUCCESS;
}

static void add_place(void *sparse, const void *at, size_t nbytes)
{
    sparse_add(sparse, at, nbytes);
}

static int allocate_sparse(struct staged *staged)
{
    int result = MPI_SUCCESS;

    sparse_begin(&staged->sparse);
    for (int i = 0; i < staged->nparts && result == MPI_SUCCESS; i++) {
        const struct typed typed = staged_typed_of(staged->user, &staged->parts[i]);

        result = typed_each(&typed, add_place, &staged->sparse);
    }
    if (result == MPI_SUCCESS && !sparse_map(&staged->sparse))
        result = MPI_ERR_NO_MEM;
    if (result != MPI_SUCCESS)
        sparse_give(&staged->sparse);
    staged->host = (char *)staged->sparse.shift;
    return result;
}

/* An operation of the application's may count on the alignment of its elements, whose first byte need not be the type's. */
#define ALIGNMENT 64

static int allocate(struct staged *staged)
{
    struct staged_span all = {0, 0};
    MPI_Aint shift;

    if (staged_is_absolute(staged))
        return allocate_sparse(staged);
    for (int i = 0; i < staged->nparts; i++) {
        const struct staged_span span = staged_span_of(&staged->parts[i]);

        if (span.low == span.high) /* its place may be anywhere */
            continue;
        if (all.low == all.high)
            all = span;
        all.low = span.low < all.low ? span.low : all.low;
        all.high = span.high > all.high ? span.high : all.high;
    }
    shift = (all.low % ALIGNMENT + ALIGNMENT) % ALIGNMENT;
    if (!host_take(&staged->block, (size_t)(shift + all.high - all.low),
                   address_at(staged->user, all.low)))
        return MPI_ERR_NO_MEM;
    staged->host = address_at(staged->block.at, shift - all.low);
    return MPI_SUCCESS;
}

int staged_read_part(const struct staged *staged, int part)
{
    const struct staged_span span = staged_span_of(&staged->parts[part]);
    const struct typed typed = staged_typed_of(staged->user, &staged->parts[part]);

    if (staged_is_absolute(staged))
        return typed_read(&typed, address_at(staged->host, staged->parts[part].displacement));
    return span.high > span.low && buffer_to_host(address_at(staged->host, span.low),
                                                  address_at(staged->user, span.low),
                                                  (size_t)(span.high - span.low)) < 0
               ? MPI_ERR_BUFFER
               : MPI_SUCCESS;
}

int staged_read(struct staged *staged)
{
    struct typed typed;
    int result = MPI_SUCCESS;

    if (!staged->staged)
        return MPI_SUCCESS;
    typed = staged_typed_of(staged->user, &staged->parts[0]);
    if (staged->dense)
        return typed_pack(&typed, staged->block.at);
    for (int i = 0; i < staged->nparts && result == MPI_SUCCESS; i++)
        result = staged_read_part(staged, i);
    return result;
}

void staged_pass(struct staged *staged, const void *user)
{
    *staged = (struct staged){.user = (char *)(uintptr_t)user, .host = (char *)(uintptr_t)user};
}

static int begin(struct staged *staged, int nparts, const struct staged_part *parts)
{
    int result;

    staged->parts = nparts == 1 ? &staged->part : malloc((size_t)nparts * sizeof *parts);
    if (!staged->parts)
        return MPI_ERR_NO_MEM;
    memcpy(staged->parts, parts, (size_t)nparts * sizeof *parts);
    for (int i = 0; i < nparts; i++)
        if (parts[i].count == 0)
            staged->parts[i].type = MPI_BYTE;
    staged->nparts = nparts;
    result = wants_dense(staged) ? allocate_dense(staged) : allocate(staged);
    if (result != MPI_SUCCESS) {
        if (nparts != 1)
            free(staged->parts);
        return result;
    }
    staged->staged = true;
    if (staged->use & STAGED_LATER)
        keep_types(staged);
    if (staged->use & STAGED_READ)
        result = staged_read(staged);
    if (result != MPI_SUCCESS)
        staged_end(staged);
    return result;
}

static int begin_at(enum buffer_place place, struct staged *staged, int nparts,
                    const struct staged_part *parts)
{
    if (place == BUFFER_GPU)
        return begin(staged, nparts, parts);
    return place == BUFFER_LOST ? staged_refuse_lost(staged->user) : MPI_SUCCESS;
}

int staged_begin_parts(struct staged *staged, const void *user, int nparts,
                       const struct staged_part *parts, unsigned use)
{
    const char *byte;

    staged_pass(staged, user);
    staged->use = use;
    if (nparts == 1) {
        staged->count = parts->count;
        staged->type = parts->type;
    }
    if (use & STAGED_NOBODY || !gpu_is_in_use() || is_any_wrong(nparts, parts))
        return MPI_SUCCESS;
    if (user == MPI_BOTTOM)
        return is_any_on_gpu(user, nparts, parts) ? begin(staged, nparts, parts) : MPI_SUCCESS;
    byte = byte_of(user, nparts, parts);
    return begin_at(byte ? buffer_place(byte) : BUFFER_HOST, staged, nparts, parts);
}

/* Where the buffer is host memory, its type is kept nevertheless. */
static void expect_direct(struct staged *staged, MPI_Count count, MPI_Datatype type)
{
    staged->direct = direct_receives(count, type, staged->use & STAGED_LATER);
    if (staged->staged || !staged->direct)
        return;
    staged->part = (struct staged_part){0, count, type};
    staged->parts = &staged->part;
    staged->nparts = 1;
    if (staged->use & STAGED_LATER)
        keep_types(staged);
}

static int begin_one(struct staged *staged, const void *user, MPI_Count count, MPI_Datatype type,
                     unsigned use)
{
    const struct staged_part part = {0, count, type};

    if (!(use & STAGED_NOBODY) && count > 0 && gpu_is_in_use() &&
        (user == MPI_BOTTOM || (!is_wrong(count, type) && !type_is_basic(type))))
        return staged_begin_parts(staged, user, 1, &part, use);
    staged_pass(staged, user);
    staged->use = use;
    staged->count = count;
    staged->type = type;
    if (use & STAGED_NOBODY || count <= 0 || is_wrong(count, type))
        return MPI_SUCCESS;
    return begin_at(buffer_place(user), staged, 1, &part);
}

int staged_begin(struct staged *staged, const void *user, MPI_Count count, MPI_Datatype type,
                 unsigned use)
{
    const int result = begin_one(staged, user, count, type, use);

    if (result == MPI_SUCCESS && use & STAGED_MESSAGE && !(use & STAGED_NOBODY))
        expect_direct(staged, count, type);
    return result;
}

/* Elsewhere, since what it had is still mapped. */
static int move_sparse(struct staged *staged)
{
    struct sparse_block before = staged->sparse;
    const int result = allocate_sparse(staged);

    sparse_give(&before);
    return result == MPI_SUCCESS && staged->use & STAGED_READ ? staged_read(staged) : result;
}

int staged_keep_apart(const struct staged *first, struct staged *second)
{
    const struct host_block before = second->block;

    if (second->staged && staged_is_absolute(second) && first->host == second->host)
        return move_sparse(second);
    if (!second->staged || first->host != second->host || first->user == second->user)
        return MPI_SUCCESS;
    if (!host_take(&second->block, before.nbytes,
                   byte_of(second->user, second->nparts, second->parts))) {
        second->block = before;
        return MPI_ERR_NO_MEM;
    }
    memcpy(second->block.at, before.at, before.nbytes);
    second->host = address_at(second->block.at,
                              (MPI_Aint)((uintptr_t)second->host - (uintptr_t)before.at));
    host_give(&before);
    return MPI_SUCCESS;
}

void staged_end(struct staged *staged)
{
    if (staged->use & STAGED_LATER)
        free_types(staged);
    free(staged->written);
    staged->written = NULL;
    staged->nparts = 0;
    staged->direct = 0;
    if (!staged->staged)
        return;
    if (staged_is_absolute(staged) && !staged->dense)
        sparse_give(&staged->sparse);
    else
        host_give(&staged->block);
    if (staged->parts != &staged->part)
        free(staged->parts);
    staged->staged = false;
}
