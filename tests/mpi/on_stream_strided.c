/* Strided data in the order of streams. For two ranks and more; rank 1 sends to rank 0 where
 * nothing else is said. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/random_type.h"

#define BYTES (192 << 10)

/* On a GPU and not. */
static void there_and_back(struct CUstream_st *stream, enum memory kind, const char *name)
{
    MPI_Datatype column;
    struct buffer grid;
    char host[64 * 32], packed[64 * 8];

    job_test("a column of %s to a dense buffer, and back, on %s", memory_name(kind), name);
    MPI_Type_vector(64, 8, 32, MPI_BYTE, &column);
    MPI_Type_commit(&column);
    need_buffer(&grid, kind, sizeof host);
    if (job.rank == 1) {
        gpu_keep_busy(stream);
        for (int row = 0; row < 64; row++)
            memset(host + (size_t)row * 32, row + 1, 32);
        gpu_put(grid.at, host, sizeof host);
        succeeds(gpubind_send_on_stream(grid.at, 1, column, 0, 6, MPI_COMM_WORLD, stream), "send");
        succeeds(gpubind_recv_on_stream(grid.at + 8, 1, column, 0, 7, MPI_COMM_WORLD, stream),
                 "receive");
    }
    if (job.rank == 0) {
        succeeds(gpubind_recv_on_stream(got.at, 512, MPI_BYTE, 1, 6, MPI_COMM_WORLD, stream),
                 "receive");
        succeeds(gpubind_send_on_stream(got.at, 512, MPI_BYTE, 1, 7, MPI_COMM_WORLD, stream),
                 "send");
    }
    stream_ends(stream);
    gpu_get(packed, got.at, sizeof packed);
    gpu_get(host, grid.at, sizeof host);
    for (int row = 0; row < 64; row++) {
        if (job.rank == 0)
            is_int(packed[row * 8 + 5], row + 1, "a row of the column");
        if (job.rank == 1)
            is_int(host[row * 32 + 9], row + 1, "a row that came back");
    }
    MPI_Type_free(&column);
    buffer_clear(&grid);
    job_result();
}

enum { DENSE, COLUMN, SHORT_COLUMN, IRREGULAR, RUN, TYPES };
static const char *const names[] = {"dense data", "a column", "a short column", "irregular data",
                                    "a part of a row"};

static MPI_Datatype make_type(int number)
{
    int lengths[500], places[500];
    MPI_Datatype type;

    for (int i = 0; i < 500; i++) {
        lengths[i] = 1 + i % 7;
        places[i] = 12 * i + i % 3;
    }
    if (number == DENSE)
        MPI_Type_contiguous(BYTES / 8, MPI_DOUBLE, &type);
    else if (number == COLUMN)
        MPI_Type_vector(5000, 1, 4, MPI_DOUBLE, &type);
    else if (number == SHORT_COLUMN)
        MPI_Type_vector(30, 1, 4, MPI_DOUBLE, &type);
    else if (number == IRREGULAR)
        MPI_Type_indexed(500, lengths, places, MPI_INT, &type);
    else
        MPI_Type_indexed(1, &lengths[6], &places[6], MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* What lies in the receiver's buffer then, between the data too. */
static void compare(MPI_Datatype out, MPI_Datatype in)
{
    struct byte_map from = {.at = malloc(BYTES * sizeof *from.at)},
                    to = {.at = malloc(BYTES * sizeof *to.at)};
    char *source = malloc(BYTES), *wanted = malloc(BYTES), *there = malloc(BYTES);
    size_t at = 0;

    byte_map_fill(&from, BYTES, out, 1, 0, BYTES);
    byte_map_fill(&to, BYTES, in, 1, 0, BYTES);
    bytes_of_seed(source, BYTES, 61);
    bytes_of_seed(wanted, BYTES, 62);
    for (size_t i = 0; i < from.n; i++)
        wanted[to.at[i]] = source[from.at[i]];
    gpu_get(there, copied.at, BYTES);
    while (at < BYTES && there[at] == wanted[at])
        at++;
    expect(at == BYTES, "byte %zu of the buffer is wrong", at);
    free(from.at);
    free(to.at);
    free(source);
    free(wanted);
    free(there);
}

/* What is sent is written by the stream before, and overwritten after; what is received
 * is read by the stream after. */
static void in_order(struct CUstream_st *stream, int out, int in)
{
    MPI_Datatype types[] = {make_type(out), make_type(in)};

    job_test("%s to %s, %s: earlier work is sent, later work finds what came", names[out],
             names[in], stream == alone ? "a non-blocking stream" : "a blocking stream");
    buffer_fill(&copied, 0, BYTES, 61);
    buffer_fill(&got, 0, BYTES, 62);
    buffer_reset(&sent);
    if (job.rank == 1) {
        stream_copies(&sent, &copied, BYTES, stream);
        succeeds(gpubind_send_on_stream(sent.at, 1, types[0], 0, 8, MPI_COMM_WORLD, stream),
                 "send");
        cuda.cuMemsetD8Async(address_of(&sent), 0, BYTES, stream);
    }
    if (job.rank == 0) {
        gpu_keep_busy(stream);
        succeeds(gpubind_recv_on_stream(got.at, 1, types[1], 1, 8, MPI_COMM_WORLD, stream),
                 "receive");
        cuda.cuMemcpyDtoDAsync_v2(address_of(&copied), address_of(&got), BYTES, stream);
    }
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    stream_ends(stream);
    types[0] = make_type(out);
    types[1] = make_type(in);
    if (job.rank == 0)
        compare(types[0], types[1]);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    job_result();
}

/* It comes after what was in the legacy stream at the call, where what holds that stream
 * later needs a message that is sent after this one's. */
static void held_after_an_irecv(void)
{
    MPI_Datatype types[] = {make_type(COLUMN), make_type(COLUMN)};
    gpubind_request request;

    job_test("an irecv of a column, then a blocking stream is held");
    buffer_fill(&sent, 0, BYTES, 61);
    buffer_fill(&copied, 0, BYTES, 62);
    if (job.rank == 0) {
        succeeds(gpubind_irecv(copied.at, 1, types[1], 1, 8, MPI_COMM_WORLD, &request), "irecv");
        succeeds(gpubind_recv_on_stream(got.at, 4, MPI_BYTE, 1, 9, MPI_COMM_WORLD, blocking),
                 "receive");
    }
    job_barrier();
    if (job.rank == 0)
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    if (job.rank == 1) {
        succeeds(MPI_GPUSend(sent.at, 1, types[0], 0, 8, MPI_COMM_WORLD), "send");
        succeeds(MPI_GPUSend(sent.at, 4, MPI_BYTE, 0, 9, MPI_COMM_WORLD), "send");
    }
    stream_ends(blocking);
    if (job.rank == 0)
        compare(types[0], types[1]);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    job_result();
}

void on_stream_strided(void)
{
    there_and_back(alone, MEMORY_DEVICE, "a non-blocking stream");
    there_and_back(blocking, MEMORY_DEVICE, "a blocking stream");
    there_and_back(alone, MEMORY_HOST, "a non-blocking stream");
    for (int type = COLUMN; type < TYPES; type++) {
        in_order(alone, type, DENSE);
        in_order(blocking, type, type);
    }
    in_order(alone, SHORT_COLUMN, COLUMN);
    in_order(alone, RUN, IRREGULAR);
    held_after_an_irecv();
}
