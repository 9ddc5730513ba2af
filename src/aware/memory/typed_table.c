#include "aware/memory/typed_table.h"

#include <pthread.h>
#include <stdlib.h>

#include "aware/memory/copy_stream.h"
#include "aware/memory/gpu_pool.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/pointer_query.h"

struct typed_table {
    struct typed_table *next;
    gpu_context context;
    unsigned long long id; /* of the context: one that was destroyed may have had its address */
    struct gpu_block *block;
    struct iov_kernel_end end; /* of elements at 0 */
    uint64_t alignment;
};

/* Of all lists. No call of the driver is made with it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void free_table(struct typed_table *table)
{
    gpu_pool_give(table->block);
    free(table);
}

void typed_tables_free(struct typed_table *list)
{
    while (list) {
        struct typed_table *next = list->next;

        free_table(list);
        list = next;
    }
}

static gpu_address address_of(const struct gpu_block *block)
{
    return (gpu_address)(uintptr_t)gpu_pool_at(block);
}

/* When it returns the map is there; after no other work. */
static bool upload(struct iov_map *map, gpu_context context, const struct gpu_block *to)
{
    const gpu_stream stream = copy_stream_unordered(context);
    const size_t nbytes = iov_map_bytes(map);
    uint64_t *words = malloc(nbytes);
    bool good = words;

    if (good) {
        iov_map_write(map, words);
        good = gpu_upload_async(address_of(to), words, nbytes, stream) == GPU_OK;
        good = gpu_stream_synchronize(stream) == GPU_OK && good;
    }
    free(words);
    return good;
}

static bool fill(struct typed_table *table, struct iov_map *map)
{
    table->block = gpu_pool_take_for_long(table->context, iov_map_bytes(map));
    if (!table->block || !upload(map, table->context, table->block))
        return false;
    table->end = iov_map_end(map, address_of(table->block), 0, &table->alignment);
    return true;
}

static bool make_map(struct iov_map *map, const struct type_parts *parts, int64_t extent)
{
    struct iov_block *blocks = malloc((size_t)parts->nblocks * sizeof *blocks);
    bool made;

    if (!blocks)
        return false;
    for (int i = 0; i < parts->nblocks; i++)
        blocks[i] = (struct iov_block){parts->blocks[i].at, parts->blocks[i].nbytes};
    made = iov_map_make(map, blocks, (uint64_t)parts->nblocks, extent);
    free(blocks);
    return made;
}

static struct typed_table *make(const struct type_parts *parts, int64_t extent, gpu_context context)
{
    struct typed_table *table = calloc(1, sizeof *table);
    struct iov_map map;
    bool good;

    if (!table || !make_map(&map, parts, extent)) {
        free(table);
        return NULL;
    }
    table->context = context;
    table->id = context_number(context);
    good = fill(table, &map);
    iov_map_clear(&map);
    if (good)
        return table;
    free_table(table);
    return NULL;
}

/* The lock is held. */
static struct typed_table *find(struct typed_table *list, gpu_context context,
                                unsigned long long id)
{
    while (list && (list->context != context || list->id != id))
        list = list->next;
    return list;
}

/* NULL: none, this time. */
static const struct typed_table *find_or_make(struct typed_table **list,
                                              const struct type_parts *parts, int64_t extent,
                                              gpu_context context)
{
    const unsigned long long id = context_number(context);
    struct typed_table *found, *made;

    pthread_mutex_lock(&lock);
    found = find(*list, context, id);
    pthread_mutex_unlock(&lock);
    if (found)
        return found;
    made = make(parts, extent, context);
    if (!made)
        return NULL;
    pthread_mutex_lock(&lock);
    found = find(*list, context, id); /* another thread's */
    if (!found) {
        made->next = *list;
        *list = made;
    }
    pthread_mutex_unlock(&lock);
    if (!found)
        return made;
    free_table(made);
    return found;
}

bool typed_table_end(struct typed_table **list, const struct type_parts *parts, int64_t extent,
                     gpu_context context, gpu_address address, struct iov_kernel_end *end,
                     uint64_t *alignment)
{
    const struct typed_table *table = find_or_make(list, parts, extent, context);

    if (!table)
        return false;
    *end = table->end;
    end->address = address;
    *alignment |= table->alignment | address;
    return true;
}
