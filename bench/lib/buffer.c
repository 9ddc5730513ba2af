#include "bench/lib/buffer.h"

#include <string.h>
#include <sys/mman.h>

/* A multiple of 8 that fits into a CPU cache. */
#define CHUNK ((size_t)1 << 20)
#define STEP 0x9e3779b97f4a7c15u

static int make_chunk(struct buffer *buffer, struct gpubind_error *err)
{
    void *at;
    int status = gpu_alloc_host(CHUNK, &at, err);

    buffer->chunk = at;
    return status;
}

int buffer_alloc(struct buffer *buffer, const struct bench_gpu *gpu, size_t nbytes,
                 struct gpubind_error *err)
{
    void *at;

    memset(buffer, 0, sizeof *buffer);
    buffer->nbytes = nbytes;
    buffer->gpu = gpu;
    if (gpu) {
        if (gpu_alloc(nbytes, &at, err) < 0)
            return -1;
        buffer->at = at;
        return make_chunk(buffer, err);
    }
    at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return error_set(err, "the host has no %zu bytes left", nbytes);
    buffer->at = at;
    return 0;
}

void buffer_free(struct buffer *buffer)
{
    if (buffer->gpu) {
        gpu_free_host(buffer->chunk, CHUNK);
        gpu_free(buffer->at);
    } else if (buffer->at) {
        munmap(buffer->at, buffer->nbytes);
    }
    memset(buffer, 0, sizeof *buffer);
}

uint64_t pattern_seed(int round, int sender, int slot)
{
    uint64_t seed = ((uint64_t)(unsigned)round << 40) ^ ((uint64_t)(unsigned)sender << 20) ^
                    (uint64_t)(unsigned)slot;

    /* The finalizer of splitmix64, which maps neighbouring numbers far apart. */
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    return seed ^ (seed >> 31);
}

/* Writes the pattern starting at byte `from`, a multiple of 8. Neighbouring words differ in all
 * bytes, so that displaced data is detected. */
static void write_pattern(unsigned char *to, size_t nbytes, uint64_t seed, size_t from)
{
    uint64_t word = seed + from / 8 * STEP;
    size_t i = 0;

    for (; i + 8 <= nbytes; i += 8, word += STEP)
        memcpy(to + i, &word, 8);
    memcpy(to + i, &word, nbytes - i);
}

static bool is_pattern(const unsigned char *at, size_t nbytes, uint64_t seed, size_t from)
{
    uint64_t word = seed + from / 8 * STEP, found, different = 0;
    size_t i = 0;

    for (; i + 8 <= nbytes; i += 8, word += STEP) {
        memcpy(&found, at + i, 8);
        different |= found ^ word;
    }
    return !different && memcmp(at + i, &word, nbytes - i) == 0;
}

int buffer_fill(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed,
                struct gpubind_error *err)
{
    unsigned char *at = buffer->at + offset;

    if (!buffer->gpu) {
        write_pattern(at, nbytes, seed, 0);
        return 0;
    }
    for (size_t done = 0; done < nbytes; done += CHUNK) {
        size_t step = nbytes - done < CHUNK ? nbytes - done : CHUNK;

        write_pattern(buffer->chunk, step, seed, done);
        if (gpu_upload(buffer->gpu, at + done, buffer->chunk, step, err) < 0)
            return -1;
    }
    return 0;
}

int buffer_check(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed,
                 struct gpubind_error *err)
{
    const unsigned char *at = buffer->at + offset;

    if (!buffer->gpu)
        return !is_pattern(at, nbytes, seed, 0);
    for (size_t done = 0; done < nbytes; done += CHUNK) {
        size_t step = nbytes - done < CHUNK ? nbytes - done : CHUNK;

        if (gpu_download(buffer->gpu, buffer->chunk, at + done, step, err) < 0)
            return -1;
        if (!is_pattern(buffer->chunk, step, seed, done))
            return 1;
    }
    return 0;
}
