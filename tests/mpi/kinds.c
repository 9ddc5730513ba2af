/* Every kind of memory that the driver has, on either side, and memory that another
 * process made. For two ranks and more, which send around in a ring. */
#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST (3 << 20)

static const int sizes[] = {8, 5000, 70001, LARGEST};
static int left, right;

static uint64_t seed_of(int rank, int i)
{
    return 500 * (uint64_t)rank + (uint64_t)i;
}

/* Every rank sends to the right from out and receives from the left into in. */
static void around(const struct buffer *out, const struct buffer *in)
{
    for (int i = 0; i < 4; i++) {
        buffer_fill(out, 0, (size_t)sizes[i], seed_of(job.rank, i));
        buffer_reset(in);
        succeeds(gpubind_sendrecv(out->at, sizes[i], MPI_BYTE, right, i, in->at, LARGEST, MPI_BYTE,
                                  left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "%d bytes from %s", sizes[i], memory_name(out->kind));
        received(in, (size_t)sizes[i], seed_of(left, i), memory_name(out->kind));
    }
}

/* The same with two blocking calls: sends without a receive in the way. */
static void around_blocking(const struct buffer *out, const struct buffer *in)
{
    for (int i = 0; i < 4; i++) {
        buffer_fill(out, 0, (size_t)sizes[i], seed_of(job.rank, i));
        buffer_reset(in);
        for (int turn = 0; turn < job.size; turn++) {
            if (turn == job.rank)
                succeeds(MPI_GPUSend(out->at, sizes[i], MPI_BYTE, right, i, MPI_COMM_WORLD),
                         "send of %d bytes", sizes[i]);
            if (turn == left)
                succeeds(MPI_GPURecv(in->at, LARGEST, MPI_BYTE, left, i, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE),
                         "receive of %d bytes", sizes[i]);
        }
        received(in, (size_t)sizes[i], seed_of(left, i), memory_name(out->kind));
    }
}

/* 0 where all ranks have memory of both kinds. */
static int make_both(struct buffer *out, struct buffer *in, enum memory from, enum memory to)
{
    int missing = buffer_make(out, from, LARGEST) != 0;

    missing |= buffer_make(in, to, LARGEST) != 0;
    MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT, MPI_MAX, job.plain);
    return missing;
}

static void pair(enum memory from, enum memory to)
{
    struct buffer out, in;

    job_test("%s to %s", memory_name(from), memory_name(to));
    if (make_both(&out, &in, from, to)) {
        job_skip("the driver has no such memory");
    } else {
        around(&out, &in);
        around_blocking(&out, &in);
        job_result();
    }
    buffer_clear(&out);
    buffer_clear(&in);
}

/* A mapping of another rank's memory, made by the application: both a buffer to send
 * from and one to receive into. */
static void imported(void)
{
    struct cuda_ipc_handle mine, theirs;
    struct buffer own, in;
    cuda_address mapped = 0;
    int works;

    job_test("a pointer that the application opened from an IPC handle");
    need_filled(&own, MEMORY_DEVICE, LARGEST, seed_of(job.rank, 9));
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    works = gpu_count && cuda.cuIpcGetMemHandle(&mine, (cuda_address)(uintptr_t)own.at) == CUDA_OK;
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, left, 0, &theirs, sizeof theirs, MPI_BYTE, right, 0,
                 job.plain, MPI_STATUS_IGNORE);
    works = works && cuda.cuIpcOpenMemHandle_v2(&mapped, theirs, CUDA_IPC_LAZY_PEER) == CUDA_OK;
    MPI_Allreduce(MPI_IN_PLACE, &works, 1, MPI_INT, MPI_MIN, job.plain);
    if (works) {
        /* The right neighbour's bytes come back to it from here, by way of the left. */
        char *at = (char *)(uintptr_t)mapped;

        for (int i = 0; i < 4; i++) {
            int from = (left + 1) % job.size; /* whose bytes the left neighbour holds */

            buffer_reset(&in);
            succeeds(gpubind_sendrecv(at, sizes[i], MPI_BYTE, right, i, in.at, LARGEST, MPI_BYTE,
                                      left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     "sendrecv from a mapping");
            received(&in, (size_t)sizes[i], seed_of(from, 9), "from a mapping");
        }
        job_barrier();
        buffer_fill(&in, 0, LARGEST, seed_of(job.rank, 10));
        succeeds(gpubind_sendrecv(in.at, LARGEST, MPI_BYTE, right, 7, at, LARGEST, MPI_BYTE, left,
                                  7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "sendrecv into a mapping");
        job_barrier();
        /* The left neighbour wrote here what its own left one sent. */
        received(&own, LARGEST, seed_of((left + job.size - 1) % job.size, 10), "into a mapping");
        cuda.cuIpcCloseMemHandle(mapped);
        job_barrier();
        job_result();
    } else {
        if (mapped)
            cuda.cuIpcCloseMemHandle(mapped);
        job_skip("the driver opens no handle");
    }
    buffer_clear(&own);
    buffer_clear(&in);
}

/* Many pointers into one allocation, each its own message, all under way at once. */
static void pieces(void)
{
    enum { N = 64, PIECE = 4096 };
    gpubind_request requests[2 * N];
    struct buffer out, in;

    job_test("%d messages between pieces of two allocations", N);
    need_filled(&out, MEMORY_DEVICE, N * PIECE, seed_of(job.rank, 3));
    need_buffer(&in, MEMORY_DEVICE, N * PIECE);
    for (int i = 0; i < N; i++) {
        succeeds(gpubind_irecv(in.at + (N - 1 - i) * PIECE, PIECE, MPI_BYTE, left, N - 1 - i,
                               MPI_COMM_WORLD, &requests[i]),
                 "irecv");
        succeeds(gpubind_isend(out.at + i * PIECE, PIECE, MPI_BYTE, right, i, MPI_COMM_WORLD,
                               &requests[N + i]),
                 "isend");
    }
    succeeds(gpubind_waitall(2 * N, requests, MPI_STATUSES_IGNORE), "waitall");
    received(&in, N * PIECE, seed_of(left, 3), "all pieces");
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

void test_kinds(void)
{
    left = (job.rank + job.size - 1) % job.size;
    right = (job.rank + 1) % job.size;
    for (int kind = MEMORY_DEVICE; kind < MEMORY_KINDS; kind++) {
        if (kind >= MEMORY_VMM && !cuda.cuMemCreate)
            break; /* an old driver */
        pair((enum memory)kind, MEMORY_DEVICE);
        pair(MEMORY_DEVICE, (enum memory)kind);
        pair((enum memory)kind, (enum memory)kind);
    }
    pair(MEMORY_POOL, MEMORY_MANAGED);
    pair(MEMORY_HOST, MEMORY_POOL);
    imported();
    pieces();
}
