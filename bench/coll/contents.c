/* The numbers that the ranks send, and those that they must receive: whole numbers below 2^20, whose
 * sums over the ranks are exact in a double in any order. */
#include <string.h>

#include "bench/coll/coll.h"
#include "bench/lib/ranks.h"

#define CHUNK ((size_t)1 << 17)
#define STEP 0x9e3779b97f4a7c15u

/* On its way from or to a GPU. */
static double chunk[CHUNK];

/* Number i of what a rank sends. */
static double number_at(uint64_t seed, size_t i)
{
    return (double)((seed + i * STEP) >> 44);
}

static void copy_in(const struct buffer *buffer, size_t from, size_t n)
{
    struct gpubind_error err;

    if (!buffer->gpu)
        memcpy(buffer->at + from * sizeof *chunk, chunk, n * sizeof *chunk);
    else if (gpu_upload(buffer->gpu, buffer->at + from * sizeof *chunk, chunk, n * sizeof *chunk,
                        &err) < 0)
        ranks_die("%s", err.text);
}

static void copy_out(const struct buffer *buffer, size_t from, size_t n)
{
    struct gpubind_error err;

    if (!buffer->gpu)
        memcpy(chunk, buffer->at + from * sizeof *chunk, n * sizeof *chunk);
    else if (gpu_download(buffer->gpu, chunk, buffer->at + from * sizeof *chunk, n * sizeof *chunk,
                          &err) < 0)
        ranks_die("%s", err.text);
}

static size_t step_from(size_t from, size_t n)
{
    return n - from < CHUNK ? n - from : CHUNK;
}

static size_t length_of(const struct coll_call *call, bool blocks)
{
    return (size_t)call->count * (blocks ? (size_t)call->n : 1);
}

static void write_numbers(const struct buffer *buffer, size_t n, uint64_t seed)
{
    for (size_t from = 0, step; from < n; from += step) {
        step = step_from(from, n);
        for (size_t i = 0; i < step; i++)
            chunk[i] = number_at(seed, from + i);
        copy_in(buffer, from, step);
    }
}

/* No number that is sent has such bytes. */
static void write_nothing(const struct buffer *buffer, size_t n)
{
    for (size_t from = 0, step; from < n; from += step) {
        step = step_from(from, n);
        memset(chunk, 0xff, step * sizeof *chunk);
        copy_in(buffer, from, step);
    }
}

void contents_write(struct coll *coll, const struct coll_operation *op,
                    const struct coll_call *call)
{
    const bool sends = op->sender == COLL_ALL_RANKS || coll->rank == COLL_ROOT;

    coll->round++;
    for (int rank = 0; rank < coll->n; rank++)
        coll->seeds[rank] = pattern_seed(coll->round, rank, 0);
    write_nothing(&coll->recv, length_of(call, op->recv_blocks));
    if (sends)
        write_numbers(op->in_place ? &coll->recv : &coll->send, length_of(call, op->send_blocks),
                      coll->seeds[coll->rank]);
}

/* Number i of what this rank receives. Of a send buffer with blocks it gets its own; into a receive
 * buffer with blocks it gets one of each rank. */
static double wanted_at(const struct coll *coll, const struct coll_operation *op,
                        const struct coll_call *call, size_t i)
{
    const size_t count = (size_t)call->count, sender = op->recv_blocks ? i / count : COLL_ROOT;
    const size_t at = (op->send_blocks ? (size_t)coll->rank * count : 0) + i % count;
    double sum = 0;

    if (!op->sums)
        return number_at(coll->seeds[sender], at);
    for (int rank = 0; rank < coll->n; rank++)
        sum += number_at(coll->seeds[rank], at);
    return sum;
}

static bool are_same_bytes(double a, double b)
{
    uint64_t bytes[2];

    memcpy(&bytes[0], &a, sizeof a);
    memcpy(&bytes[1], &b, sizeof b);
    return bytes[0] == bytes[1];
}

bool contents_are_right(const struct coll *coll, const struct coll_operation *op,
                        const struct coll_call *call)
{
    const size_t n = length_of(call, op->recv_blocks);

    if (op->receiver == COLL_ROOT_ALONE && coll->rank != COLL_ROOT)
        return true;
    for (size_t from = 0, step; from < n; from += step) {
        step = step_from(from, n);
        copy_out(&coll->recv, from, step);
        for (size_t i = 0; i < step; i++)
            if (!are_same_bytes(chunk[i], wanted_at(coll, op, call, from + i)))
                return false;
    }
    return true;
}
