/* What strided data cost beside contiguous ones of the same size, between two GPUs: half
 * of a ping-pong of blocking calls. By hand:
 *
 *     make tests/bench/strided && mpirun -np 2 tests/bench/strided [column|vector|indexed|all]
 *
 * Without a word: vectors and indexed types, blocks of 64 bytes to 4 KiB, messages of 16 KiB
 * to 64 MiB, in less than a minute. A row: shape, bytes of a block, of a message;
 * microseconds of a contiguous message, of one that is strided at both ends, at the
 * sender's, at the receiver's; the share of the contiguous speed that the one with both has.
 * "isend": the same with both strided by gpubind_isend and gpubind_wait. "WRONG" behind it:
 * data arrived wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpubind.h"
#include "tests/mpi/gpu.h"

#define AREA (520u << 20)
#define CHECKED (8u << 20) /* extents up to which data are compared */

enum shape { VECTOR, INDEXED };
static const char *const shape_names[] = {"vector", "indexed"};

static int rank;
static struct buffer area;
static char *host;

/* Bytes from the area's start to block i. */
static MPI_Aint place(enum shape shape, size_t i, size_t block, size_t stride)
{
    if (shape == VECTOR)
        return (MPI_Aint)(i * stride);
    return (MPI_Aint)(i * 3 * block + i * i % 2 * block + i % 3 / 2 * block); /* gaps of 0 to 4 */
}

static MPI_Datatype make_type(enum shape shape, size_t n, size_t block, size_t stride)
{
    MPI_Aint *places = NULL;
    MPI_Datatype type;

    if (shape == VECTOR) {
        MPI_Type_create_hvector((int)n, (int)block, (MPI_Aint)stride, MPI_BYTE, &type);
    } else {
        places = malloc(n * sizeof *places);
        for (size_t i = 0; i < n; i++)
            places[i] = place(shape, i, block, stride);
        MPI_Type_create_hindexed_block((int)n, (int)block, places, MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    free(places);
    return type;
}

struct message {
    MPI_Datatype type;
    int count;
    bool nonblocking;
};

static void send(const struct message *sent)
{
    gpubind_request request;

    if (!sent->nonblocking) {
        MPI_GPUSend(area.at, sent->count, sent->type, !rank, 0, MPI_COMM_WORLD);
        return;
    }
    gpubind_isend(area.at, sent->count, sent->type, !rank, 0, MPI_COMM_WORLD, &request);
    gpubind_wait(&request, MPI_STATUS_IGNORE);
}

static void turn(const struct message *sent, const struct message *received)
{
    if (rank == 0)
        send(sent);
    MPI_GPURecv(area.at, received->count, received->type, !rank, 0, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE);
    if (rank == 1)
        send(sent);
}

/* Microseconds one way, the best of five. */
static double measure(const struct message *sent, const struct message *received, size_t nbytes)
{
    const int turns = nbytes <= 256 << 10 ? 100 : nbytes <= 4 << 20 ? 30 : 6;
    double best = 1e9;

    for (int i = 0; i < 3; i++)
        turn(sent, received);
    for (int series = 0; series < 5; series++) {
        double before, took;

        MPI_Barrier(MPI_COMM_WORLD);
        before = MPI_Wtime();
        for (int i = 0; i < turns; i++)
            turn(sent, received);
        took = 1e6 * (MPI_Wtime() - before) / (2 * turns);
        best = took < best ? took : best;
    }
    return best;
}

/* Rank 0's blocks must be rank 1's, and nothing else. */
static bool is_right(const struct message *message, enum shape shape, size_t n, size_t block,
                     size_t stride)
{
    const size_t extent = (size_t)place(shape, n - 1, block, stride) + block;
    size_t next = 0;
    int right = 1;

    if (extent > CHECKED)
        return true;
    bytes_of_seed(host, extent, (uint64_t)rank);
    gpu_put(area.at, host, extent);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_GPUSend(area.at, 1, message->type, 1, 0, MPI_COMM_WORLD);
    } else {
        char *all = malloc(2 * extent), *sent = all, *kept = all + extent;

        MPI_GPURecv(area.at, 1, message->type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gpu_get(host, area.at, extent);
        bytes_of_seed(sent, extent, 0);
        bytes_of_seed(kept, extent, 1);
        for (size_t i = 0; i < n; i++) {
            const size_t at = (size_t)place(shape, i, block, stride);

            right &= memcmp(host + next, kept + next, at - next) == 0 &&
                     memcmp(host + at, sent + at, block) == 0;
            next = at + block;
        }
        free(all);
    }
    MPI_Bcast(&right, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return right;
}

static void measure_shape(const char *name, enum shape shape, size_t n, size_t block, size_t stride)
{
    const size_t nbytes = n * block;
    const struct message dense = {MPI_BYTE, (int)nbytes, false};
    struct message strided = {make_type(shape, n, block, stride), 1, false};
    const struct message started = {strided.type, 1, true};
    const bool right = is_right(&strided, shape, n, block, stride);
    const double contiguous = measure(&dense, &dense, nbytes);
    const double both = measure(&strided, &strided, nbytes);
    const double sends = measure(&strided, &dense, nbytes);
    const double receives = measure(&dense, &strided, nbytes);
    const double isends = measure(&started, &strided, nbytes);

    if (rank == 0) {
        printf("%-8s %5zu %9zu %9.1f %9.1f %9.1f %9.1f %9.1f %6.2f%s\n", name, block, nbytes,
               contiguous, both, sends, receives, isends, contiguous / both,
               right ? "" : "  WRONG");
        fflush(stdout);
    }
    MPI_Type_free(&strided.type);
}

/* all: also blocks of 8 and 16 bytes, which the promise does not name. */
static void measure_all(enum shape shape, bool all)
{
    static const size_t blocks[] = {8, 16, 64, 256, 1024, 4096};
    static const size_t sizes[] = {16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20};

    for (size_t b = all ? 0 : 2; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            if (sizes[s] / blocks[b] <= 1 << 20) /* MPI's own types grow large */
                measure_shape(shape_names[shape], shape, sizes[s] / blocks[b], blocks[b],
                              2 * blocks[b]);
}

static bool wants(int argc, char **argv, const char *name)
{
    return argc > 1 && (strcmp(argv[1], name) == 0 || strcmp(argv[1], "all") == 0);
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gpu_start(rank);
    host = malloc(CHECKED);
    if (size != 2 || !gpu_count || buffer_make(&area, MEMORY_DEVICE, AREA) < 0) {
        fprintf(stderr, "strided: it takes two ranks with a GPU and %u MiB of its memory each\n",
                AREA >> 20);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0)
        printf("%-8s %5s %9s %9s %9s %9s %9s %9s %6s\n", "shape", "block", "bytes", "dense", "both",
               "send", "receive", "isend", "share");
    if (wants(argc, argv, "column")) {
        measure_shape("column", VECTOR, 1000, 8, 512);
        measure_shape("column", VECTOR, 1 << 20, 8, 512);
    }
    if (argc < 2 || wants(argc, argv, "vector"))
        measure_all(VECTOR, argc > 1);
    if (argc < 2 || wants(argc, argv, "indexed"))
        measure_all(INDEXED, argc > 1);
    buffer_clear(&area);
    free(host);
    gpu_end();
    MPI_Finalize();
    return 0;
}
