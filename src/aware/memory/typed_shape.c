#include "aware/memory/typed_shape.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "gpu/copy/row_copy.h"
#include "mpi/datatype/type_contents.h"

static int keyval = MPI_KEYVAL_INVALID;
/* From when a shape is found with a type until it has one more user: another thread's may take its place.
 * What MPI calls for an attribute does not take it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void typed_shape_give(const struct typed_shape *given)
{
    struct typed_shape *shape = (struct typed_shape *)(uintptr_t)given;

    if (!shape || atomic_fetch_sub(&shape->users, 1) > 1)
        return;
    typed_tables_free(shape->tables);
    free(shape->parts.blocks);
    free(shape);
}

/* MPI frees the type. */
static int forget(MPI_Datatype type, int key, void *value, void *unused)
{
    (void)type, (void)key, (void)unused;
    typed_shape_give(value);
    return MPI_SUCCESS;
}

/* MPI_Type_dup copies no shape: the new type has its own. */
static void make_keyval(void)
{
    if (PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL) != MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
}

/* They are kept for long. */
static void fit(struct type_parts *parts)
{
    struct type_block *blocks = parts->nblocks > 0 ? realloc(parts->blocks, (size_t)parts->nblocks *
                                                                                sizeof *blocks)
                                                   : NULL;

    if (blocks)
        parts->blocks = blocks;
}

/* As typed_walk.c puts rows together. */
static MPI_Count count_copies(const struct type_parts *parts)
{
    const struct type_block *blocks = parts->blocks;
    MPI_Count ncopies = 0;

    for (int i = 0, next; i < parts->nblocks; i = next, ncopies++) {
        next = i + 1;
        while (next < parts->nblocks && blocks[next].nbytes == blocks[i].nbytes &&
               blocks[next].at - blocks[next - 1].at == blocks[i + 1].at - blocks[i].at)
            next++;
        if (next > i + 1 && !rows_are_one_copy(blocks[i + 1].at - blocks[i].at, blocks[i].nbytes))
            ncopies += next - i - 1;
    }
    return ncopies;
}

static void find_bounds(struct typed_shape *shape)
{
    const struct strided_buffer *layout = &shape->regular.layout;
    const struct type_block *blocks = shape->parts.blocks;

    if (shape->is_regular && shape->regular.nbytes > 0) {
        shape->low = (MPI_Count)(int64_t)layout->address;
        shape->high = shape->low + (MPI_Count)layout->run;
        for (int i = 0; i < 3; i++) {
            const MPI_Count steps = (MPI_Count)layout->stride[i] *
                                    (layout->count[i] - (MPI_Count)1);

            *(steps < 0 ? &shape->low : &shape->high) += steps;
        }
    }
    for (int i = 0; !shape->is_regular && i < shape->parts.nblocks; i++) {
        const MPI_Count end = blocks[i].at + (MPI_Count)blocks[i].nbytes;

        shape->low = i == 0 || blocks[i].at < shape->low ? blocks[i].at : shape->low;
        shape->high = i == 0 || end > shape->high ? end : shape->high;
    }
}

static struct typed_shape *make(MPI_Datatype type)
{
    struct typed_shape *shape = calloc(1, sizeof *shape);
    MPI_Count lb;

    if (!shape)
        return NULL;
    shape->users = 1;
    shape->is_regular = type_regular(type, &shape->regular);
    if (!shape->is_regular && type_flatten(&shape->parts, type) < 0) {
        typed_shape_give(shape);
        return NULL;
    }
    fit(&shape->parts);
    shape->ncopies = count_copies(&shape->parts);
    find_bounds(shape);
    PMPI_Type_get_extent_x(type, &lb, &shape->extent);
    return shape;
}

/* NULL: none is kept with it. */
static struct typed_shape *find(MPI_Datatype type)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct typed_shape *shape = NULL;
    int found = 0;

    pthread_once(&once, make_keyval);
    if (keyval == MPI_KEYVAL_INVALID)
        return NULL;
    pthread_mutex_lock(&lock);
    if (PMPI_Type_get_attr(type, keyval, &shape, &found) != MPI_SUCCESS || !found)
        shape = NULL;
    if (shape)
        atomic_fetch_add(&shape->users, 1);
    pthread_mutex_unlock(&lock);
    return shape;
}

static void keep(MPI_Datatype type, struct typed_shape *shape)
{
    if (keyval == MPI_KEYVAL_INVALID)
        return;
    atomic_fetch_add(&shape->users, 1);
    pthread_mutex_lock(&lock);
    if (PMPI_Type_set_attr(type, keyval, shape) != MPI_SUCCESS)
        atomic_fetch_sub(&shape->users, 1);
    pthread_mutex_unlock(&lock);
}

const struct typed_shape *typed_shape_take(MPI_Datatype type)
{
    struct typed_shape *shape = find(type);

    if (shape)
        return shape;
    shape = make(type);
    if (shape && type_may_be_freed(type))
        keep(type, shape);
    return shape;
}

void typed_shape_bounds(MPI_Datatype type, MPI_Count *low, MPI_Count *high)
{
    /* Nothing is kept with a basic one. */
    const struct typed_shape *shape = type_is_basic(type) ? NULL : typed_shape_take(type);

    if (shape) {
        *low = shape->low;
        *high = shape->high;
    } else {
        PMPI_Type_get_true_extent_x(type, low, high);
        *high += *low;
    }
    typed_shape_give(shape);
}

/* MPI_Type_dup would call the application's functions that copy attributes. */
MPI_Datatype typed_shape_same(MPI_Datatype type)
{
    struct typed_shape *shape = (struct typed_shape *)(uintptr_t)typed_shape_take(type);
    MPI_Datatype same;

    PMPI_Type_contiguous(1, type, &same);
    if (shape)
        keep(same, shape);
    typed_shape_give(shape);
    return same;
}
