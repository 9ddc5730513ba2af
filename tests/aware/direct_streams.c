/* Messages come after what the legacy stream has still to do, and are there for any stream at their end. */
#include "tests/aware/direct.h"

#include <stdlib.h>
#include <string.h>

enum { SENDS = 8, ROOM = 2 * (LARGEST + MPI_BSEND_OVERHEAD) };

static const char *const names[SENDS] = {
    "MPI_Send",      "MPI_Ssend", "MPI_Isend",    "MPI_Issend",
    "MPI_Send_init", "MPI_Bsend", "MPI_Sendrecv", "MPI_Sendrecv_replace",
};
static const int sizes[] = {1000, 3008, 70000, MIB, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static cuda_address address(const struct buffer *buffer)
{
    return (cuda_address)(uintptr_t)buffer->at;
}

/* At once in host memory, by the legacy stream in a GPU's: not before it has done other work. */
static void set_later(const struct buffer *buffer, int value, int nbytes, bool busy)
{
    if (!gpu_owns(buffer->at)) {
        memset(buffer->at, value, (size_t)nbytes);
        return;
    }
    if (busy)
        gpu_keep_busy(CUDA_LEGACY_STREAM);
    cuda.cuMemsetD8Async(address(buffer), (unsigned char)value, (size_t)nbytes, CUDA_LEGACY_STREAM);
}

static void all_are(const struct buffer *buffer, int value, int nbytes, const char *what)
{
    char *got = malloc((size_t)nbytes);
    int at = 0;

    if (!got)
        abort();
    gpu_get(got, buffer->at, (size_t)nbytes);
    while (at < nbytes && got[at] == (char)value)
        at++;
    expect(at == nbytes, "%s: byte %d is %d instead of %d", what, at, at < nbytes ? got[at] : 0,
           value);
    free(got);
}

static void send(int mode, const struct buffer *buffer, MPI_Datatype type)
{
    MPI_Request request;

    switch (mode) {
    case 0:
        MPI_Send(buffer->at, 1, type, 1, TAG, messages);
        return;
    case 1:
        MPI_Ssend(buffer->at, 1, type, 1, TAG, messages);
        return;
    case 2:
        MPI_Isend(buffer->at, 1, type, 1, TAG, messages, &request);
        break;
    case 3:
        MPI_Issend(buffer->at, 1, type, 1, TAG, messages, &request);
        break;
    case 5:
        MPI_Bsend(buffer->at, 1, type, 1, TAG, messages);
        return;
    case 6:
        MPI_Sendrecv(buffer->at, 1, type, 1, TAG, NULL, 0, MPI_BYTE, MPI_PROC_NULL, TAG, messages,
                     MPI_STATUS_IGNORE);
        return;
    default:
        MPI_Sendrecv_replace(buffer->at, 1, type, 1, TAG, MPI_PROC_NULL, TAG, messages,
                             MPI_STATUS_IGNORE);
        return;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* All of nbytes, in one block or in halves the second of which comes first. */
static MPI_Datatype type_of(int nbytes, bool halves)
{
    const int lengths[2] = {nbytes - nbytes / 2, nbytes / 2}, displacements[2] = {nbytes / 2, 0};
    MPI_Datatype type;

    if (halves)
        MPI_Type_indexed(2, lengths, displacements, MPI_BYTE, &type);
    else
        MPI_Type_contiguous(nbytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* after: the legacy stream writes the next bytes once the send is over. */
static void send_later(int mode, int nbytes, int value, enum memory from, bool halves, bool after)
{
    MPI_Datatype type = type_of(nbytes, halves);
    MPI_Request request = MPI_REQUEST_NULL;
    struct buffer buffer;

    need_buffer(&buffer, from, (size_t)nbytes);
    if (mode == 4)
        MPI_Send_init(buffer.at, 1, type, 1, TAG, messages, &request);
    set_later(&buffer, value, nbytes, true);
    if (mode == 4) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else {
        send(mode, &buffer, type);
    }
    if (after) {
        set_later(&buffer, 99, nbytes, false);
        if (gpu_count > 0)
            cuda.cuCtxSynchronize();
    }
    token_from(1);
    buffer_clear(&buffer);
    MPI_Type_free(&type);
}

static void test_written(int mode)
{
    job_test("%s comes after what the legacy stream has still to write", names[mode]);
    for (int i = 0; i < SIZES; i++) {
        const int nbytes = sizes[i], value = 1 + i;
        const bool after = (i + mode) % 2;
        /* managed memory is host memory, and has no such order */
        const enum memory from = draw(2) ? MEMORY_DEVICE : MEMORY_POOL, to = draw_memory();
        const bool halves = draw(3) == 0;

        job_at("%d bytes of %s into %s", nbytes, memory_name(from), memory_name(to));
        if (job.rank == 0) {
            send_later(mode, nbytes, value, from, halves, after);
        } else if (job.rank == 1) {
            struct buffer buffer;

            need_buffer(&buffer, to, (size_t)nbytes);
            if (after)
                nap(5);
            MPI_Recv(buffer.at, nbytes, MPI_BYTE, 0, TAG, messages, MPI_STATUS_IGNORE);
            all_are(&buffer, value, nbytes, "the message");
            token_to(0);
            buffer_clear(&buffer);
        }
    }
    job_result();
}

/* ---- the receiver's side */

static void receive(int way, const struct buffer *buffer, int nbytes)
{
    MPI_Request request;
    MPI_Message matched;

    switch (way) {
    case 0:
        MPI_Recv(buffer->at, nbytes, MPI_BYTE, 0, TAG, messages, MPI_STATUS_IGNORE);
        return;
    case 1:
        MPI_Mprobe(0, TAG, messages, &matched, MPI_STATUS_IGNORE);
        MPI_Mrecv(buffer->at, nbytes, MPI_BYTE, &matched, MPI_STATUS_IGNORE);
        return;
    case 2:
        MPI_Recv_init(buffer->at, nbytes, MPI_BYTE, 0, TAG, messages, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        return;
    default:
        MPI_Irecv(buffer->at, nbytes, MPI_BYTE, 0, TAG, messages, &request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
}

/* The legacy stream reads the receive's buffer, then writes it, then comes the message. */
static void receive_later(int way, int nbytes, int value, struct CUstream_st *stream)
{
    struct buffer in, copy, seen;

    need_buffer(&in, MEMORY_DEVICE, (size_t)nbytes);
    need_buffer(&copy, MEMORY_DEVICE, (size_t)nbytes);
    need_buffer(&seen, MEMORY_DEVICE, (size_t)nbytes);
    buffer_fill(&in, 0, (size_t)nbytes, 5);
    if (gpu_count > 0) {
        gpu_keep_busy(CUDA_LEGACY_STREAM);
        cuda.cuMemcpyDtoDAsync_v2(address(&copy), address(&in), (size_t)nbytes, CUDA_LEGACY_STREAM);
        set_later(&in, 98, nbytes, false);
    }
    receive(way, &in, nbytes);
    if (gpu_count > 0) {
        cuda.cuMemcpyDtoDAsync_v2(address(&seen), address(&in), (size_t)nbytes, stream);
        cuda.cuStreamSynchronize(stream);
        all_are(&seen, value, nbytes, "what another stream reads after the receive");
        cuda.cuCtxSynchronize();
        received(&copy, (size_t)nbytes, 5, "what the legacy stream read before the receive");
    }
    all_are(&in, value, nbytes, "the message");
    buffer_clear(&in);
    buffer_clear(&copy);
    buffer_clear(&seen);
}

static void test_read(void)
{
    static const char *const ways[] = {"MPI_Recv", "MPI_Mrecv", "MPI_Recv_init", "MPI_Irecv"};
    struct CUstream_st *stream = NULL;

    if (gpu_count > 0)
        cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    for (int way = 0; way < 4; way++) {
        job_test("%s comes after what the legacy stream has still to read and write", ways[way]);
        for (int i = 0; i < SIZES; i++) {
            const int nbytes = sizes[i], value = 20 + i;
            struct buffer buffer;

            job_at("%d bytes", nbytes);
            if (job.rank == 0) {
                need_buffer(&buffer, (i + way) % 2 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes);
                set_later(&buffer, value, nbytes, false);
                MPI_Send(buffer.at, nbytes, MPI_BYTE, 1, TAG, messages);
                buffer_clear(&buffer);
            } else if (job.rank == 1) {
                receive_later(way, nbytes, value, stream);
            }
        }
        job_result();
    }
    if (stream)
        cuda.cuStreamDestroy_v2(stream);
}

void test_streams(void)
{
    void *room = malloc(ROOM);
    int nbytes;

    if (!room)
        abort();
    MPI_Buffer_attach(room, ROOM);
    for (int mode = 0; mode < SENDS; mode++)
        test_written(mode);
    MPI_Buffer_detach(&room, &nbytes);
    free(room);
    test_read();
}
