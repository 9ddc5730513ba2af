#include "aware/memory/typed_walk.h"

#include <string.h>

#include "aware/memory/typed_kernel.h"
#include "gpu/core/pointer_query.h"

static int copy_rows(struct walk *walk)
{
    const int status = walk->rows.n > 0 ? buffer_copy_rows(&walk->rows, walk->out) : 0;

    /* The next one may be another context's. */
    if (status == 0 && walk->rows.n > 0 && walk->typed->absolute && buffer_wait(walk->rows.gpu) < 0)
        return -1;
    walk->rows.n = 0;
    return status;
}

/* The driver refuses a copy that spans two allocations, which may be adjacent. How many of the block's bytes lie in
 * that of the first one; 0: a copy failed. */
static size_t enter_allocation(struct walk *walk, const char *block, size_t nbytes)
{
    struct allocation allocation = {0};
    size_t left;

    if (!walk->typed->absolute || !pointer_allocation(block, &allocation))
        return nbytes;
    if (allocation.id != walk->allocation && copy_rows(walk) < 0)
        return 0;
    walk->allocation = allocation.id;
    left = (size_t)(allocation.start + allocation.nbytes - (gpu_address)(uintptr_t)block);
    return nbytes < left ? nbytes : left;
}

/* Puts a block behind those before it, where all are as far from each other. */
static int add_row(struct walk *walk, gpu_address gpu, char *host, size_t nbytes)
{
    struct rows *rows = &walk->rows;

    if (rows->n == 1) {
        rows->gpu_stride = (int64_t)(gpu - rows->gpu);
        rows->host_stride = host - rows->host;
    }
    if (rows->n > 0 && rows->nbytes == nbytes &&
        gpu == rows->gpu + (gpu_address)((int64_t)rows->n * rows->gpu_stride) &&
        host == rows->host + (int64_t)rows->n * rows->host_stride) {
        rows->n++;
        return 0;
    }
    if (copy_rows(walk) < 0)
        return -1;
    *rows = (struct rows){gpu, host, nbytes, 1, 0, 0, walk->on_gpu};
    return 0;
}

static int add_block(struct walk *walk, const char *gpu, char *host, size_t nbytes)
{
    while (nbytes > 0) {
        const size_t part = enter_allocation(walk, gpu, nbytes);

        if (part == 0 || add_row(walk, (gpu_address)(uintptr_t)gpu, host, part) < 0)
            return -1;
        gpu += part;
        host += part;
        nbytes -= part;
    }
    return 0;
}

/* 0: go on; 1: the walk is over; -1: a copy failed. */
static int visit(struct walk *walk, MPI_Aint offset, size_t nbytes)
{
    char *at = address_at(walk->typed->at, offset);
    const bool gpu = !walk->typed->host && (!walk->typed->absolute || buffer_is_on_gpu(at));
    char *host = walk->dense ? walk->dense : address_at(walk->host, offset);
    int status = 0;

    if (walk->asks)
        return gpu;
    if (walk->visits) {
        walk->visits(walk->visitor, at, nbytes);
        return 0;
    }
    nbytes = (MPI_Count)nbytes < walk->left ? nbytes : (size_t)walk->left;
    if (gpu)
        status = add_block(walk, at, host, nbytes);
    else
        memcpy(walk->out ? host : at, walk->out ? at : host, nbytes);
    walk->dense += walk->dense ? nbytes : 0;
    walk->left -= (MPI_Count)nbytes;
    return status < 0 ? -1 : walk->left == 0;
}

/* What is left, and until all is there. */
static int finish(struct walk *walk)
{
    const gpu_address last = walk->rows.gpu;

    if (copy_rows(walk) < 0)
        return -1;
    return last && !walk->typed->absolute ? buffer_wait(last) : 0;
}

bool walk_is_adjacent(const struct typed_shape *shape, MPI_Count count)
{
    const struct type_parts *parts = &shape->parts;

    for (int i = 1; i < parts->nblocks; i++)
        if (parts->blocks[i].at != parts->blocks[i - 1].at + (MPI_Aint)parts->blocks[i - 1].nbytes)
            return false;
    return parts->nblocks > 0 && (count == 1 || (MPI_Count)parts->nbytes == shape->extent);
}

/* As visit. */
static int visit_parts(struct walk *walk, const struct typed_shape *shape)
{
    const struct type_parts *parts = &shape->parts;
    const MPI_Count count = walk->typed->count;
    int over = 0;

    if (walk_is_adjacent(shape, count))
        return visit(walk, parts->blocks[0].at, parts->nbytes * (size_t)count);
    for (MPI_Count i = 0; i < count && !over; i++)
        for (int j = 0; j < parts->nblocks && !over; j++)
            over = visit(walk, (MPI_Aint)(i * shape->extent) + parts->blocks[j].at,
                         parts->blocks[j].nbytes);
    return over;
}

/* ---- data whose blocks are all alike: no list of them is made */

static void add_level(struct alike *alike, MPI_Count n, MPI_Aint stride)
{
    if (n == 1)
        return;
    if (alike->nlevels == 0 && stride == (MPI_Aint)alike->nbytes)
        alike->nbytes *= (size_t)n;
    else
        alike->levels[alike->nlevels++] = (struct level){n, stride};
}

struct alike walk_alike(const struct typed_shape *shape, MPI_Count count)
{
    const struct strided_buffer *layout = &shape->regular.layout;
    struct alike alike = {.first = (MPI_Aint)layout->address, .nbytes = layout->run};

    for (int i = 0; i < 3; i++)
        add_level(&alike, layout->count[i], (MPI_Aint)layout->stride[i]);
    add_level(&alike, count, shape->extent);
    return alike;
}

/* All of it lies in GPU memory, of one allocation. */
static bool is_all_on_gpu(const struct walk *walk)
{
    return walk->dense && !walk->asks && !walk->typed->host && !walk->typed->absolute;
}

/* Blocks of one level, in one copy; the last one that is wanted may be wanted in part. As visit. */
static int visit_row(struct walk *walk, MPI_Aint offset, size_t nbytes, struct level level)
{
    const MPI_Count whole = walk->left / (MPI_Count)nbytes, n = whole < level.n ? whole : level.n;
    const gpu_address gpu = (gpu_address)(uintptr_t)address_at(walk->typed->at, offset);

    if (copy_rows(walk) < 0)
        return -1;
    if (n > 0)
        walk->rows = (struct rows){gpu,          walk->dense,     nbytes,      (size_t)n,
                                   level.stride, (int64_t)nbytes, walk->on_gpu};
    walk->dense += n * (MPI_Count)nbytes;
    walk->left -= n * (MPI_Count)nbytes;
    if (walk->left == 0)
        return 1;
    return n < level.n ? visit(walk, offset + (MPI_Aint)n * level.stride, nbytes) : 0;
}

static int visit_levels(struct walk *walk, MPI_Aint offset, const struct alike *alike, int nlevels)
{
    int over = 0;

    if (nlevels == 0)
        return visit(walk, offset, alike->nbytes);
    if (nlevels == 1 && is_all_on_gpu(walk))
        return visit_row(walk, offset, alike->nbytes, alike->levels[0]);
    for (MPI_Count i = 0; i < alike->levels[nlevels - 1].n && !over; i++)
        over = visit_levels(walk, offset + (MPI_Aint)i * alike->levels[nlevels - 1].stride, alike,
                            nlevels - 1);
    return over;
}

/* As visit. */
static int visit_all(struct walk *walk, const struct typed_shape *shape)
{
    struct alike alike;

    if (!shape->is_regular)
        return visit_parts(walk, shape);
    if (walk->typed->count <= 0 || shape->regular.nbytes == 0)
        return 0;
    alike = walk_alike(shape, walk->typed->count);
    return visit_levels(walk, alike.first, &alike, alike.nlevels);
}

/* As walk_blocks. */
static int walk_shape(struct walk *walk, const struct typed_shape *shape, bool *found)
{
    const int over = visit_all(walk, shape);
    const int done = finish(walk);

    if (found)
        *found = over > 0;
    return done < 0 || over < 0 ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

int walk_blocks(struct walk *walk, bool *found)
{
    const struct typed_shape *shape = typed_shape_take(walk->typed->type);
    int result = MPI_SUCCESS;

    if (!shape)
        return MPI_ERR_TYPE;
    if (!is_all_on_gpu(walk) || !typed_kernel_copies(walk, shape))
        result = walk_shape(walk, shape, found);
    typed_shape_give(shape);
    return result;
}
