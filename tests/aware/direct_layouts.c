/* Types whose use has rules of its own: packed messages, absolute addresses, types that are freed while
 * they are used, sends of overlapping blocks. */
#include "tests/aware/direct.h"

#include <stdlib.h>
#include <string.h>

static const size_t counts[] = {1, 96, 752, 20000, 262144}; /* of ints */
enum { COUNTS = sizeof counts / sizeof *counts };

static char *make_bytes(size_t nbytes)
{
    char *bytes = malloc(nbytes + 1);

    if (!bytes)
        abort();
    return bytes;
}

/* Received as MPI_PACKED into host memory. */
static void test_packed(enum shape shape)
{
    job_test("packed messages, the other side has %s", shape_name(shape));
    for (int i = 0; i < 2 * COUNTS; i++) {
        const size_t n = counts[i / 2], nbytes = 4 * n;
        const enum memory kind = draw_gpu();
        const uint64_t seed = draw_seed();
        const int typed = i % 2; /* the rank whose side has the type */
        struct place place, unpacked;
        int at = 0, size;
        char *packed;
        MPI_Status status;

        if (job.rank > 1)
            continue;
        job_at("%zu ints, %s", n, memory_name(kind));
        MPI_Pack_size((int)n, MPI_INT, messages, &size);
        packed = make_bytes((size_t)size);
        place_make(&place, kind, shape, MPI_INT, n);
        place_make(&unpacked, MEMORY_HOST, shape, MPI_INT, n);
        if (job.rank == typed && job.rank == 0) {
            place_fill(&place, seed);
            MPI_Send(place.at, place.layout.count, place.layout.type, 1, TAG, messages);
        } else if (job.rank == 0) {
            place_fill(&unpacked, seed);
            MPI_Pack(unpacked.at, unpacked.layout.count, unpacked.layout.type, packed, size, &at,
                     messages);
            MPI_Send(packed, at, MPI_PACKED, 1, TAG, messages);
        } else if (job.rank == typed) {
            MPI_Recv(place.at, place.layout.count, place.layout.type, 0, TAG, messages, &status);
            status_says(&status, 0, TAG, nbytes, &place.layout, "the status");
            place_holds(&place, nbytes, seed, "of a packed message");
        } else {
            MPI_Recv(packed, size, MPI_PACKED, 0, TAG, messages, &status);
            status_says(&status, 0, TAG, nbytes, NULL, "the status");
            MPI_Get_count(&status, MPI_PACKED, &size);
            is_int(size, (long long)nbytes, "MPI_Get_count of a packed message");
            MPI_Unpack(packed, size, &at, unpacked.at, unpacked.layout.count, unpacked.layout.type,
                       messages);
            place_holds(&unpacked, nbytes, seed, "a packed message");
        }
        place_clear(&place);
        place_clear(&unpacked);
        free(packed);
    }
    job_result();
}

/* ---- absolute addresses, in memory of both kinds */

static void test_bottom(void)
{
    job_test("MPI_BOTTOM and a type of absolute addresses");
    for (int i = 0; i < 4 * COUNTS; i++) {
        const enum memory kinds[3] = {draw_memory(), draw_gpu(), draw_memory()};
        const int n = (int)counts[i / 4] * 4;
        const int lengths[3] = {n, n / 2, n / 2}; /* the last two as rows of one copy would be */
        const uint64_t seed = draw_seed();
        struct buffer buffers[3];
        MPI_Aint at[3];
        MPI_Datatype types[3] = {MPI_BYTE, MPI_BYTE, MPI_BYTE}, type;
        MPI_Status status;
        MPI_Request request;

        if (job.rank > 1)
            continue;
        for (int k = 0; k < 3; k++)
            need_buffer(&buffers[k], kinds[(k + job.rank) % 3], (size_t)lengths[k]);
        if (i % 2 && buffers[1].at > buffers[2].at) {
            const struct buffer second = buffers[1];

            buffers[1] = buffers[2];
            buffers[2] = second;
        }
        for (int k = 0; k < 3; k++) {
            MPI_Get_address(buffers[k].at, &at[k]);
            if (job.rank == 0)
                buffer_fill(&buffers[k], 0, (size_t)lengths[k], seed + (uint64_t)k);
        }
        MPI_Type_create_struct(3, lengths, at, types, &type);
        MPI_Type_commit(&type);
        if (job.rank == 0)
            MPI_Isend(MPI_BOTTOM, 1, type, 1, TAG, messages, &request);
        else
            MPI_Irecv(MPI_BOTTOM, 1, type, 0, TAG, messages, &request);
        MPI_Type_free(&type);
        MPI_Wait(&request, &status);
        if (job.rank == 1)
            status_says(&status, 0, TAG, (size_t)(n + n / 2 * 2), NULL, "the status");
        for (int k = 0; k < 3; k++) {
            received(&buffers[k], (size_t)lengths[k], seed + (uint64_t)k, "a block");
            buffer_clear(&buffers[k]);
        }
    }
    job_result();
}

/* ---- types that are freed while requests use them */

static void test_freed(void)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;

    job_test("types that are freed as soon as their messages have started");
    for (int i = 0; i < 4 * SHAPES; i++) {
        const size_t n = counts[i % COUNTS];
        const uint64_t seed = draw_seed();
        struct place out, in;
        MPI_Request requests[2];
        MPI_Status statuses[2];

        job_at("%zu ints, %s", n, shape_name((enum shape)(i % SHAPES)));
        place_make(&out, draw_memory(), (enum shape)(i % SHAPES), MPI_INT, n);
        place_make(&in, draw_memory(), (enum shape)draw(SHAPES), MPI_INT, n);
        place_fill(&out, seed + (uint64_t)job.rank);
        if (i % 2) {
            MPI_Recv_init(in.at, in.layout.count, in.layout.type, last, TAG, messages,
                          &requests[0]);
            MPI_Send_init(out.at, out.layout.count, out.layout.type, next, TAG, messages,
                          &requests[1]);
        } else {
            MPI_Irecv(in.at, in.layout.count, in.layout.type, last, TAG, messages, &requests[0]);
            MPI_Isend(out.at, out.layout.count, out.layout.type, next, TAG, messages, &requests[1]);
        }
        layout_clear(&in.layout);
        layout_clear(&out.layout);
        if (i % 2)
            MPI_Startall(2, requests);
        complete(i % COMPLETIONS, 2, requests, statuses);
        status_says(&statuses[0], last, TAG, 4 * n, NULL, "the status");
        place_holds(&in, 4 * n, seed + (uint64_t)last, "the message");
        for (int k = 0; k < 2 && i % 2; k++)
            MPI_Request_free(&requests[k]);
        buffer_clear(&out.buffer);
        buffer_clear(&in.buffer);
    }
    job_result();
}

/* ---- blocks that overlap: only what is received may not */

static void test_overlap(void)
{
    enum { ROWS = 12 };

    job_test("sends of a type whose blocks overlap");
    for (int i = 0; i < 2 * COUNTS; i++) {
        const int length = (int)counts[i / 2] / 4 + 4, stride = length / 2;
        const size_t nbytes = (size_t)ROWS * (size_t)length;
        const enum memory from = i % 2 ? MEMORY_DEVICE : draw_memory(), to = draw_memory();
        MPI_Datatype type;
        struct buffer buffer;
        char *all, *got;

        job_at("rows of %d bytes", length);
        if (job.rank == 0) {
            MPI_Type_vector(ROWS, length, stride, MPI_BYTE, &type);
            MPI_Type_commit(&type);
            need_filled(&buffer, from, nbytes, 6);
            MPI_Send(buffer.at, 1, type, 1, TAG, messages);
            MPI_Type_free(&type);
            buffer_clear(&buffer);
        } else if (job.rank == 1) {
            all = make_bytes(nbytes);
            got = make_bytes(nbytes);
            bytes_of_seed(all, nbytes, 6);
            need_buffer(&buffer, to, nbytes);
            MPI_Recv(buffer.at, (int)nbytes, MPI_BYTE, 0, TAG, messages, MPI_STATUS_IGNORE);
            gpu_get(got, buffer.at, nbytes);
            for (int row = 0; row < ROWS; row++)
                expect(memcmp(got + (size_t)row * (size_t)length,
                              all + (size_t)row * (size_t)stride, (size_t)length) == 0,
                       "row %d", row);
            expect(buffer_untouched(&buffer, nbytes), "written behind the message");
            buffer_clear(&buffer);
            free(got);
            free(all);
        }
    }
    job_result();
}

/* ---- pairs of a value and an int: elements with gaps, of a type that MPI has */

/* A pair's data, element by element: what a sender without gaps has. */
static size_t pack_pairs(char *packed, const char *pairs, int n, size_t extent, size_t value,
                         size_t second)
{
    for (int i = 0; i < n; i++, packed += value + sizeof(int)) {
        memcpy(packed, pairs + (size_t)i * extent, value);
        memcpy(packed + value, pairs + (size_t)i * extent + second, sizeof(int));
    }
    return (size_t)n * (value + sizeof(int));
}

static const struct pair {
    const char *name;
    size_t extent, value, second;
} pairs[] = {{"MPI_DOUBLE_INT", 16, sizeof(double), 8}, {"MPI_SHORT_INT", 8, sizeof(short), 4}};

enum { AS_PAIR, AS_STRUCT, AS_PACKED_STRUCT, AS_ALL };

static MPI_Datatype make_struct(int which, bool packed)
{
    const struct pair *pair = &pairs[which];
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, (MPI_Aint)(packed ? pair->value : pair->second)};
    const size_t extent = packed ? pair->value + sizeof(int) : pair->extent;
    MPI_Datatype parts[] = {which ? MPI_SHORT : MPI_DOUBLE, MPI_INT}, tight, type;

    MPI_Type_create_struct(2, lengths, places, parts, &tight);
    MPI_Type_create_resized(tight, 0, (MPI_Aint)extent, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&tight);
    return type;
}

static void send_pairs(int n, int which, int as, uint64_t seed)
{
    const struct pair *pair = &pairs[which];
    const size_t nbytes = (size_t)n * pair->extent;
    char *all = make_bytes(nbytes), *packed = make_bytes(nbytes);
    MPI_Datatype type = make_struct(which, as == AS_PACKED_STRUCT);
    struct buffer buffer;

    bytes_of_seed(all, nbytes, seed);
    pack_pairs(packed, all, n, pair->extent, pair->value, pair->second);
    need_buffer(&buffer, MEMORY_DEVICE, nbytes);
    gpu_put(buffer.at, as == AS_PACKED_STRUCT ? packed : all, nbytes);
    MPI_Send(buffer.at, n,
             as != AS_PAIR ? type
             : which       ? MPI_SHORT_INT
                           : MPI_DOUBLE_INT,
             1, TAG, messages);
    buffer_clear(&buffer);
    MPI_Type_free(&type);
    free(packed);
    free(all);
}

static void receive_pairs(int n, MPI_Datatype type, int which, bool nonblocking, uint64_t seed)
{
    const struct pair *pair = &pairs[which];
    const size_t nbytes = (size_t)n * pair->extent;
    char *all = make_bytes(nbytes), *sent = make_bytes(nbytes), *got = make_bytes(nbytes);
    struct buffer buffer;
    MPI_Request request;
    MPI_Status status;
    size_t packed;
    int result;

    bytes_of_seed(all, nbytes, seed);
    need_buffer(&buffer, MEMORY_HOST, nbytes);
    if (nonblocking) {
        MPI_Irecv(buffer.at, n, type, 0, TAG, messages, &request);
        result = MPI_Wait(&request, &status);
    } else {
        result = MPI_Recv(buffer.at, n, type, 0, TAG, messages, &status);
    }
    is_int(class_of(result), MPI_SUCCESS, "what the receive returns");
    packed = pack_pairs(sent, all, n, pair->extent, pair->value, pair->second);
    pack_pairs(got, buffer.at, n, pair->extent, pair->value, pair->second);
    status_says(&status, 0, TAG, packed, NULL, "the status");
    expect(memcmp(sent, got, packed) == 0, "the pairs are others");
    buffer_clear(&buffer);
    free(got);
    free(sent);
    free(all);
}

/* No predefined element may come in parts, where MPICH receives it in memory with gaps: of the descriptors of
 * some slots the last one does. */
static void test_pairs(void)
{
    static const int numbers[] = {4, 500, 600, 700, 800, 20000};

    job_test("pairs of a value and an int, and structs of them");
    for (int i = 0; i < 6 * AS_ALL * 2 * 2; i++) {
        const int n = numbers[i / (4 * AS_ALL)], which = i % 2, as = i / 4 % AS_ALL;
        const uint64_t seed = draw_seed();
        MPI_Datatype type = make_struct(which, false);
        MPI_Datatype expected = which ? MPI_SHORT_INT : MPI_DOUBLE_INT;

#ifdef MPICH
        if (as != AS_PAIR)
            expected = type; /* MPICH tells them apart, of host memory, too */
#endif
        job_at("%d of %s%s", n, pairs[which].name,
               as == AS_PAIR     ? ""
               : as == AS_STRUCT ? ", sent as structs"
                                 : ", sent as structs without gaps");
        if (job.rank == 0)
            send_pairs(n, which, as, seed);
        else if (job.rank == 1)
            receive_pairs(n, expected, which, i / 2 % 2, seed);
        MPI_Type_free(&type);
    }
    job_result();
}

static void test_no_data(void)
{
    MPI_Status status;

    job_test("messages without data");
    for (int i = 0; i < 8 && job.rank < 2; i++) {
        struct buffer buffer;

        need_buffer(&buffer, i % 2 ? MEMORY_DEVICE : MEMORY_HOST, 100000);
        if (job.rank == 0) {
            (i / 2 % 2 ? MPI_Send : MPI_Ssend)(i / 4 ? buffer.at : NULL, 0, MPI_DOUBLE, 1, TAG,
                                               messages);
        } else {
            MPI_Recv(buffer.at, 100000, MPI_BYTE, 0, TAG, messages, &status);
            status_says(&status, 0, TAG, 0, NULL, "no data");
            expect(buffer_untouched(&buffer, 0), "the buffer was written to");
        }
        buffer_clear(&buffer);
    }
    job_result();
}

void test_layouts(void)
{
    for (int shape = 0; shape < SHAPES; shape++)
        test_packed((enum shape)shape);
    test_bottom();
    test_freed();
    test_overlap();
    test_pairs();
    test_no_data();
}
