/* The sender's memory after its send: written over, freed, allocated again. */
#include "tests/aware/direct.h"

#include <stdlib.h>
#include <string.h>

static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_POOL, MEMORY_MANAGED, MEMORY_HOST};
static const int sizes[] = {1, 1000, 3008, 16384, 65536, 300000, MIB, LARGEST};
enum { KINDS = 4, SIZES = sizeof sizes / sizeof *sizes };

static void let_go(struct buffer *buffer, int nbytes, int way)
{
    if (way == 0)
        buffer_reset(buffer);
    if (way == 1)
        buffer_fill(buffer, 0, (size_t)nbytes, 12345);
    buffer_clear(buffer);
}

static void receive_late(int nbytes, enum memory to, uint64_t seed)
{
    struct buffer buffer;
    MPI_Status status;

    need_buffer(&buffer, to, (size_t)nbytes);
    MPI_Recv(buffer.at, nbytes, MPI_BYTE, 0, TAG, messages, &status);
    status_says(&status, 0, TAG, (size_t)nbytes, NULL, "the status");
    received(&buffer, (size_t)nbytes, seed, "what was sent");
    buffer_clear(&buffer);
}

/* ---- buffered sends, which end without a receive */

static void send_buffered(const struct buffer *buffer, int nbytes, int mode)
{
    MPI_Request request;

    switch (mode) {
    case 0:
        MPI_Bsend(buffer->at, nbytes, MPI_BYTE, 1, TAG, messages);
        return;
    case 1:
        MPI_Ibsend(buffer->at, nbytes, MPI_BYTE, 1, TAG, messages, &request);
        break;
    default:
        MPI_Bsend_init(buffer->at, nbytes, MPI_BYTE, 1, TAG, messages, &request);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (mode > 1)
        MPI_Request_free(&request);
}

static void attach(int nbytes)
{
    void *room = malloc((size_t)nbytes);

    if (!room)
        abort();
    MPI_Buffer_attach(room, nbytes);
}

static void detach(int nbytes)
{
    void *room = NULL;
    int got = 0;

    MPI_Buffer_detach(&room, &got);
    is_int(got, nbytes, "the size of the buffer that is detached");
    free(room);
}

/* The receive starts when the sender's memory is gone. */
static void test_buffered(void)
{
    enum { ROOM = LARGEST + 2 * MPI_BSEND_OVERHEAD };

    job_test("buffered sends from memory that is gone before the receive");
    for (int i = 0; i < 3 * SIZES * KINDS; i++) {
        const int nbytes = sizes[i / KINDS % SIZES];
        const enum memory from = kinds[i % KINDS], to = draw_memory();
        const uint64_t seed = draw_seed();
        struct buffer buffer;

        job_at("%d bytes of %s into %s", nbytes, memory_name(from), memory_name(to));
        if (job.rank == 0) {
            attach(ROOM);
            need_filled(&buffer, from, (size_t)nbytes, seed);
            send_buffered(&buffer, nbytes, i / KINDS / SIZES);
            let_go(&buffer, nbytes, i / KINDS % 3);
            token_to(1);
            detach(ROOM); /* it ends when the message has gone */
        } else if (job.rank == 1) {
            token_from(0);
            if (i % 8 == 0)
                nap(3);
            receive_late(nbytes, to, seed);
        }
    }
    job_result();
}

/* Room for the messages as MPI tells it, and no byte more. */
static void test_exact_room(void)
{
    enum { N = 6 };
    const int n[N] = {1, 8, 1000, 3008, 70000, 1};
    int room = 0, size;
    struct buffer buffers[N];

    job_test("buffered sends with as much room as MPI asks for");
    for (int i = 0; i < N; i++) {
        MPI_Pack_size(n[i], MPI_BYTE, messages, &size);
        room += size + MPI_BSEND_OVERHEAD;
    }
    for (int round = 0; round < 5; round++) {
        if (job.rank == 0) {
            attach(room);
            for (int i = 0; i < N; i++) {
                need_filled(&buffers[i], (i + round) % 3 ? MEMORY_DEVICE : MEMORY_HOST,
                            (size_t)n[i], (uint64_t)(round + i + 1));
                MPI_Bsend(buffers[i].at, n[i], MPI_BYTE, 1, TAG, messages);
                buffer_clear(&buffers[i]);
            }
            token_to(1);
            detach(room);
        } else if (job.rank == 1) {
            token_from(0);
            for (int i = 0; i < N; i++)
                receive_late(n[i], i % 2 ? MEMORY_DEVICE : MEMORY_HOST, (uint64_t)(round + i + 1));
        }
    }
    job_result();
}

/* ---- other sends, the receive of which comes late: they may end before it, or not */

static void send_any(const struct buffer *buffer, int nbytes, int mode)
{
    MPI_Request request;

    if (mode == 0) {
        MPI_Send(buffer->at, nbytes, MPI_BYTE, 1, TAG, messages);
        return;
    }
    if (mode == 1)
        MPI_Isend(buffer->at, nbytes, MPI_BYTE, 1, TAG, messages, &request);
    else
        MPI_Issend(buffer->at, nbytes, MPI_BYTE, 1, TAG, messages, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void test_late(int milliseconds, int rounds)
{
    job_test("sends from memory that goes when they end, receives %d ms later", milliseconds);
    for (int i = 0; i < rounds; i++) {
        const int nbytes = sizes[i % SIZES], way = i / 3 % 3;
        const enum memory from = kinds[i / 2 % KINDS], to = draw_memory();
        const uint64_t seed = draw_seed();
        struct buffer buffer;

        job_at("%d bytes of %s into %s", nbytes, memory_name(from), memory_name(to));
        if (job.rank == 0) {
            need_filled(&buffer, from, (size_t)nbytes, seed);
            token_to(1);
            send_any(&buffer, nbytes, i % 3);
            let_go(&buffer, nbytes, way);
        } else if (job.rank == 1) {
            token_from(0);
            nap(milliseconds);
            receive_late(nbytes, to, seed);
        }
    }
    job_result();
}

/* ---- the same addresses again and again */

static void test_again(enum memory kind)
{
    enum { ROUNDS = 60 };
    const uint64_t seed = draw_seed();
    struct buffer buffer;

    job_test("memory allocated again at the same addresses, %s", memory_name(kind));
    for (int round = 0; round < ROUNDS; round++) {
        const int nbytes = round % 7 == 6 ? LARGEST : round % 3 ? MIB : 70000;
        const int sender = round / 4 % 2;

        job_at("round %d", round);
        if (job.rank == sender) {
            need_filled(&buffer, kind, (size_t)nbytes, seed + (uint64_t)round);
            (round % 2 ? MPI_Send : MPI_Ssend)(buffer.at, nbytes, MPI_BYTE, 1 - sender, TAG,
                                               messages);
            buffer_clear(&buffer);
        } else if (job.rank == 1 - sender) {
            need_buffer(&buffer, round % 5 ? kind : MEMORY_HOST, (size_t)nbytes);
            MPI_Recv(buffer.at, nbytes, MPI_BYTE, sender, TAG, messages, MPI_STATUS_IGNORE);
            received(&buffer, (size_t)nbytes, seed + (uint64_t)round, "the message");
            buffer_clear(&buffer);
        }
    }
    job_result();
}

/* ---- parts of one allocation, which several sends read at once */

static void test_parts(void)
{
    enum { N = 16, PART = 40000, STEP = 16000 };
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    const size_t all = (N - 1) * STEP + PART;
    MPI_Request requests[2 * N];
    struct buffer out, in[N];
    char *bytes = malloc(all), *got = malloc(PART);

    job_test("sends that overlap, of parts of one allocation");
    if (!bytes || !got)
        abort();
    need_filled(&out, MEMORY_DEVICE, all, (uint64_t)job.rank);
    for (int i = 0; i < N; i++) {
        need_buffer(&in[i], i % 3 ? MEMORY_DEVICE : MEMORY_HOST, PART);
        MPI_Irecv(in[i].at, PART, MPI_BYTE, last, i, messages, &requests[i]);
    }
    for (int i = N - 1; i >= 0; i--)
        MPI_Isend(out.at + (size_t)i * STEP, PART, MPI_BYTE, next, i, messages, &requests[N + i]);
    MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE);
    bytes_of_seed(bytes, all, (uint64_t)last);
    for (int i = 0; i < N; i++) {
        gpu_get(got, in[i].at, PART);
        expect(memcmp(got, bytes + (size_t)i * STEP, PART) == 0, "part %d", i);
        expect(buffer_untouched(&in[i], PART), "written behind part %d", i);
        buffer_clear(&in[i]);
    }
    buffer_clear(&out);
    free(bytes);
    free(got);
    job_result();
}

/* ---- the receiver's mappings go with its context */

static void test_reset(void)
{
    enum { ROUNDS = 4 };
    const uint64_t seed = draw_seed();
    struct buffer buffer, other;

    job_test("a receiver whose device is reset between messages from one buffer");
    if (job.rank == 0)
        need_buffer(&buffer, MEMORY_DEVICE, MIB);
    for (int round = 0; round < ROUNDS; round++) {
        job_at("round %d", round);
        if (job.rank == 0) {
            buffer_fill(&buffer, 0, MIB, seed + (uint64_t)round);
            MPI_Send(buffer.at, MIB, MPI_BYTE, 1, TAG, messages);
        } else if (job.rank == 1) {
            if (round && gpu_count)
                gpu_reset(job.local % gpu_count);
            need_filled(&other, MEMORY_DEVICE, MIB, seed);
            need_buffer(&buffer, MEMORY_DEVICE, MIB);
            MPI_Recv(buffer.at, MIB, MPI_BYTE, 0, TAG, messages, MPI_STATUS_IGNORE);
            received(&buffer, MIB, seed + (uint64_t)round, "the message");
            buffer_clear(&other);
            buffer_clear(&buffer);
        }
    }
    if (job.rank == 0)
        buffer_clear(&buffer);
    job_result();
}

void test_buffers(void)
{
    test_buffered();
    test_exact_room();
    test_late(2, 48);
    test_late(60, 9);
    for (int k = 0; k < KINDS; k++)
        test_again(kinds[k]);
    test_parts();
    test_reset();
}
