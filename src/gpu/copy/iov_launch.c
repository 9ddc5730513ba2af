#include "gpu/copy/iov_launch.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/core/driver.h"

enum {
    PART = IOV_KERNEL_PART,
    TILE = IOV_KERNEL_TILE,
    LEAST = IOV_KERNEL_ELEMENT,
    WORD = 16,
    BLOCKS = 32 /* as strided_copy has */
};

/* Small elements are taken several at a time. */
static uint64_t elements_at_once(uint64_t nbytes)
{
    return nbytes > 0 && nbytes < LEAST ? (LEAST + nbytes - 1) / nbytes : 1;
}

static void fill(struct iov_map *map, const struct iov_block *blocks, uint64_t n, int64_t extent,
                 uint64_t times)
{
    uint64_t dense = 0, to = 0;

    for (uint64_t i = 0; i < times; i++)
        for (uint64_t p = 0; p < n; p++, to++) {
            map->at[to] = (int64_t)i * extent + blocks[p].at;
            map->position[to] = dense;
            dense += blocks[p].nbytes;
            map->alignment |= (uint64_t)map->at[to] | blocks[p].nbytes;
        }
    map->position[to] = dense;
    map->n = to;
    map->extent = (int64_t)times * extent;
    map->alignment |= (uint64_t)map->extent;
}

bool iov_map_make(struct iov_map *map, const struct iov_block *blocks, uint64_t n, int64_t extent)
{
    uint64_t nbytes = 0, times;

    *map = (struct iov_map){0};
    for (uint64_t p = 0; p < n; p++)
        nbytes += blocks[p].nbytes;
    times = elements_at_once(nbytes);
    map->at = malloc(n * times * sizeof *map->at);
    map->position = malloc((n * times + 1) * sizeof *map->position);
    if (!map->at || !map->position) {
        iov_map_clear(map);
        return false;
    }
    fill(map, blocks, n, extent, times);
    return true;
}

void iov_map_clear(struct iov_map *map)
{
    free(map->at);
    free(map->position);
    *map = (struct iov_map){0};
}

static uint64_t tiles_of(const struct iov_map *map)
{
    return (map->position[map->n] + TILE - 1) / TILE;
}

size_t iov_map_bytes(const struct iov_map *map)
{
    return (2 * map->n + 1 + tiles_of(map) + 1) * sizeof(uint64_t);
}

/* The block that each tile's first byte lies in. */
static void index_tiles(struct iov_map *map, uint64_t *first, uint64_t tiles)
{
    uint64_t block = 0, most = 0;

    for (uint64_t tile = 0; tile < tiles; tile++) {
        while (map->position[block + 1] <= tile * TILE)
            block++;
        first[tile] = block;
    }
    first[tiles] = map->n - 1;
    for (uint64_t tile = 0; tile < tiles; tile++)
        if (first[tile + 1] - first[tile] > most)
            most = first[tile + 1] - first[tile];
    map->steps = 0;
    while (most >> map->steps)
        map->steps++;
}

void iov_map_write(struct iov_map *map, uint64_t *words)
{
    memcpy(words, map->position, (map->n + 1) * sizeof *words);
    memcpy(words + map->n + 1, map->at, map->n * sizeof *words);
    index_tiles(map, words + 2 * map->n + 1, tiles_of(map));
}

struct iov_kernel_end iov_map_end(const struct iov_map *map, gpu_address table, gpu_address address,
                                  uint64_t *alignment)
{
    *alignment |= address;
    if (!map)
        return (struct iov_kernel_end){.address = address};
    *alignment |= map->alignment;
    return (struct iov_kernel_end){.address = address,
                                   .table = table,
                                   .n = map->n,
                                   .nbytes = map->position[map->n],
                                   .extent = map->extent,
                                   .steps = map->steps};
}

static unsigned word_of(uint64_t bits)
{
    unsigned word = WORD;

    while (bits % word)
        word /= 2;
    return word;
}

struct iov_kernel_job iov_job(const struct iov_kernel_end *to, const struct iov_kernel_end *from,
                              uint64_t nbytes, uint64_t alignment)
{
    return (struct iov_kernel_job){*to, *from, nbytes, word_of(alignment | nbytes)};
}

/* Few warps go to as many blocks as there may be. */
int iov_launch(gpu_function kernel, gpu_stream stream, struct iov_kernel_job *job)
{
    const uint64_t parts = (job->nbytes + PART - 1) / PART;
    const unsigned blocks = parts < BLOCKS ? (unsigned)parts : BLOCKS;
    const uint64_t threads = (parts + blocks - 1) / blocks * 32;
    void *parameters[] = {job};

    return gpu_driver()->cuLaunchKernel(
        kernel, blocks, 1, 1, threads < IOV_KERNEL_THREADS ? (unsigned)threads : IOV_KERNEL_THREADS,
        1, 1, 0, stream, parameters, NULL);
}
