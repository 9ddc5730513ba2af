/* A large collective comes after what the legacy stream has still to do, and its result is there for any
 * stream at its end. */
#include "tests/aware/large.h"

#include <stdlib.h>
#include <string.h>

struct areas {
    struct buffer out, in; /* of the call */
    struct buffer source;  /* of what is sent */
    struct buffer before;  /* what the legacy stream reads of in before the call */
    struct buffer after;   /* what a stream reads of it afterwards */
};

static cuda_address address(const struct buffer *buffer)
{
    return (cuda_address)(uintptr_t)buffer->at;
}

static void copy_later(const struct buffer *to, const struct buffer *from, size_t nbytes,
                       struct CUstream_st *stream)
{
    if (gpu_count > 0)
        cuda.cuMemcpyDtoDAsync_v2(address(to), address(from), nbytes, stream);
    else
        memcpy(to->at, from->at, nbytes);
}

static void is_same(const struct buffer *buffer, const char *wanted, size_t nbytes,
                    const struct call *call, const char *what)
{
    char *got = malloc(nbytes);

    if (!got)
        abort();
    gpu_get(got, buffer->at, nbytes);
    if (strcmp(what, "the copy before it") != 0)
        call_mask(call, got);
    expect(memcmp(got, wanted, nbytes) == 0, "%s of %d: %s", operation_name(call->operation),
           call->n, what);
    free(got);
}

/* in_place: what the call takes from in is written late, too. */
static void check(const struct call *call, struct CUstream_st *reader, bool busy)
{
    const size_t room = call_room(call);
    char *out = malloc(3 * room), *in = out + room, *old = out + 2 * room;
    struct areas a;

    if (!out)
        abort();
    need_buffer(&a.out, MEMORY_DEVICE, room);
    need_buffer(&a.in, MEMORY_DEVICE, room);
    need_buffer(&a.source, MEMORY_DEVICE, room);
    need_buffer(&a.before, MEMORY_DEVICE, room);
    need_buffer(&a.after, MEMORY_DEVICE, room);
    fill_values(out, room, INTS, call->seed + (uint64_t)job.rank);
    fill_values(in, room, INTS, call->seed + 50 + (uint64_t)job.rank);
    memcpy(old, in, room);
    gpu_put(a.source.at, call->in_place ? in : out, room);
    gpu_put(a.out.at, in, room);
    gpu_put(a.in.at, call->in_place ? out : in, room);
    if (gpu_count > 0 && busy)
        gpu_keep_busy(CUDA_LEGACY_STREAM);
    copy_later(&a.before, &a.in, room, CUDA_LEGACY_STREAM);
    copy_later(call->in_place ? &a.in : &a.out, &a.source, room, CUDA_LEGACY_STREAM);
    if (call->in_place)
        gpu_put(a.out.at, out, room);
    call_make(call, a.out.at, a.in.at);
    copy_later(&a.after, &a.in, room, reader);
    if (gpu_count > 0) { /* what was sent is no longer needed */
        cuda.cuStreamSynchronize(reader);
        cuda.cuMemsetD8Async(address(&a.out), 0, room, CUDA_LEGACY_STREAM);
    }
    call_make(call, out, in);
    is_same(&a.before, call->in_place ? out : old, room, call, "the copy before it");
    call_mask(call, in);
    is_same(&a.after, in, room, call, "the copy after it");
    is_same(&a.in, in, room, call, "what is received");
    buffer_clear(&a.out);
    buffer_clear(&a.in);
    buffer_clear(&a.source);
    buffer_clear(&a.before);
    buffer_clear(&a.after);
    free(out);
}

void test_streams(void)
{
    struct CUstream_st *nonblocking = NULL;

    if (gpu_count > 0)
        cuda.cuStreamCreate(&nonblocking, CUDA_STREAM_NON_BLOCKING);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        job_test("%s comes after what the legacy stream has still to do",
                 operation_name(operation));
        for (int i = 0; i < 4; i++) {
            struct call call = call_of(operation, MPI_COMM_WORLD, element_of(INTS),
                                       i ? draw_size() : 64 * KIB);

            job_at("%d", i);
            call.shift = draw(4);
            call.root = i % job.size;
            call.seed = draw_seed();
            call.in_place = i == 3 && operation >= ALLGATHER && operation != REDUCE;
            check(&call, i % 2 ? nonblocking : CUDA_LEGACY_STREAM,
                  i == 0 || job.rank == i % job.size);
        }
        job_result();
    }
    if (nonblocking)
        cuda.cuStreamDestroy_v2(nonblocking);
}
