/* The order between plain MPI functions with GPU memory and the GPU's streams: after what the legacy
 * stream has still to do, and never behind a stream that itself waits for the messages. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"

enum { TAG = 3, ROWS = 500, LARGEST = 3 << 20 };

static const int sizes[] = {8, 5000, 70001, LARGEST};
#define SIZES (int)(sizeof sizes / sizeof *sizes)

static struct CUstream_st *blocking, *nonblocking;
static struct buffer out, in, copy;
static int next, last;

static cuda_address address(const struct buffer *buffer)
{
    return (cuda_address)(uintptr_t)buffer->at;
}

/* ---- a stream that waits for the messages */

static atomic_int released, waited_in_vain;

static void wait_for_release(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5000 && !released; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    waited_in_vain |= !released;
}

static void pass(int nbytes)
{
    MPI_Request requests[2];

    MPI_Sendrecv(out.at, nbytes, MPI_BYTE, next, TAG, in.at, nbytes, MPI_BYTE, last, TAG, job.plain,
                 MPI_STATUS_IGNORE);
    MPI_Irecv(in.at, nbytes, MPI_BYTE, last, TAG, job.plain, &requests[0]);
    MPI_Isend(out.at, nbytes, MPI_BYTE, next, TAG, job.plain, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void pass_strided(void)
{
    MPI_Datatype rows;

    MPI_Type_vector(ROWS, 16, 100, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    MPI_Sendrecv(out.at, 1, rows, next, TAG, in.at, 1, rows, last, TAG, job.plain,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&rows);
}

static int place(int row)
{
    return 100 * row + row * row % 70;
}

static MPI_Datatype irregular(void)
{
    MPI_Aint places[ROWS];
    MPI_Datatype rows;

    for (int i = 0; i < ROWS; i++)
        places[i] = place(i);
    MPI_Type_create_hindexed_block(ROWS, 16, places, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    return rows;
}

/* A kernel packs them, if it can be loaded without waiting for a stream that waits. */
static void pass_irregular(void)
{
    MPI_Datatype rows = irregular();

    MPI_Sendrecv(out.at, 1, rows, next, TAG, in.at, 1, rows, last, TAG, job.plain,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&rows);
}

/* The first time: nothing has been passed before. */
static void test_held(struct CUstream_st *stream, const char *name, const char *when)
{
    job_test("no message waits for work in %s, %s", name, when);
    buffer_fill(&out, 0, LARGEST, (uint64_t)job.rank + 1);
    buffer_reset(&in);
    released = waited_in_vain = 0;
    if (gpu_count > 0)
        cuda.cuLaunchHostFunc(stream, wait_for_release, NULL);
    for (int i = 0; i < SIZES; i++)
        pass(sizes[i]);
    pass_strided();
    pass_irregular();
    MPI_Bcast(in.at, 5000, MPI_BYTE, 0, job.plain);
    MPI_Allreduce(out.at, in.at, 500, MPI_UINT32_T, MPI_BOR, job.plain);
    pass(LARGEST);
    released = 1;
    if (gpu_count > 0)
        cuda.cuCtxSynchronize();
    expect(!waited_in_vain, "a message waited for the stream, which waited for the messages");
    received(&in, LARGEST, (uint64_t)last + 1, "the last message");
    job_result();
}

static void test_captured(void)
{
    struct CUgraph_st *graph = NULL;
    int status = CUDA_OK;

    job_test("messages while a stream is captured are no part of the graph");
    buffer_fill(&out, 0, LARGEST, (uint64_t)job.rank + 50);
    if (gpu_count > 0)
        status = cuda.cuStreamBeginCapture_v2(blocking, 0);
    is_int(status, CUDA_OK, "cuStreamBeginCapture");
    for (int i = 0; i < SIZES; i++)
        pass(sizes[i]);
    pass_strided();
    pass_irregular();
    pass(LARGEST);
    if (gpu_count > 0)
        status = cuda.cuStreamEndCapture(blocking, &graph);
    is_int(status, CUDA_OK, "cuStreamEndCapture");
    received(&in, LARGEST, (uint64_t)last + 50, "the last message");
    if (graph && cuda.cuGraphDestroy)
        cuda.cuGraphDestroy(graph);
    job_result();
}

/* ---- earlier work in the legacy stream */

static void send(int nbytes, bool nonblocking_send)
{
    MPI_Request request;

    if (nonblocking_send) {
        MPI_Isend(out.at, nbytes, MPI_BYTE, next, TAG, job.plain, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Ssend(out.at, nbytes, MPI_BYTE, next, TAG, job.plain);
    }
}

static void test_written_before(void)
{
    job_test("a send comes after what the legacy stream has still to write");
    for (int i = 0; i < 2 * SIZES; i++) {
        const int nbytes = sizes[i / 2];

        if (job.rank == 0 && gpu_count > 0) {
            buffer_reset(&out);
            buffer_fill(&copy, 0, (size_t)nbytes, 100 + (uint64_t)i);
            gpu_keep_busy(CUDA_LEGACY_STREAM);
            cuda.cuMemcpyDtoDAsync_v2(address(&out), address(&copy), (size_t)nbytes,
                                      CUDA_LEGACY_STREAM);
        } else if (job.rank == 0) {
            buffer_fill(&out, 0, (size_t)nbytes, 100 + (uint64_t)i);
        }
        if (job.rank == 0)
            send(nbytes, i % 2);
        if (job.rank == 1) {
            buffer_reset(&in);
            MPI_Recv(in.at, nbytes, MPI_BYTE, 0, TAG, job.plain, MPI_STATUS_IGNORE);
            received(&in, (size_t)nbytes, 100 + (uint64_t)i, "received");
        }
    }
    job_result();
}

static void test_read_before(void)
{
    job_test("a receive comes after what the legacy stream has still to read");
    for (int i = 0; i < SIZES; i++) {
        const size_t nbytes = (size_t)sizes[i];

        if (job.rank == 0) {
            buffer_fill(&out, 0, nbytes, 200 + (uint64_t)i);
            send(sizes[i], false);
        }
        if (job.rank == 1) {
            buffer_fill(&in, 0, nbytes, 300 + (uint64_t)i);
            buffer_fill(&copy, 0, nbytes, 300 + (uint64_t)i);
            if (gpu_count > 0) {
                buffer_reset(&copy);
                gpu_keep_busy(CUDA_LEGACY_STREAM);
                cuda.cuMemcpyDtoDAsync_v2(address(&copy), address(&in), nbytes, CUDA_LEGACY_STREAM);
            }
            MPI_Recv(in.at, sizes[i], MPI_BYTE, 0, TAG, job.plain, MPI_STATUS_IGNORE);
            received(&copy, nbytes, 300 + (uint64_t)i, "what the stream read");
            expect(buffer_holds(&in, 0, nbytes, 200 + (uint64_t)i, NULL), "the received bytes");
        }
    }
    job_result();
}

/* The copy is in the context of the window's GPU, whose legacy stream is another one. */
static void test_own_window(void)
{
    enum { NBYTES = 8192 };
    const int device = job.local % (gpu_count > 0 ? gpu_count : 1);
    struct buffer window;
    MPI_Win win;

    job_test(
        "a put to this rank's memory of another GPU comes after what the legacy stream has still to write");
    if (gpu_count < 2) {
        job_skip("fewer than two GPUs");
        return;
    }
    gpu_use((device + 1) % gpu_count);
    need_buffer(&window, MEMORY_DEVICE, NBYTES);
    MPI_Win_create(window.at, NBYTES, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    gpu_use(device);
    buffer_reset(&out);
    buffer_fill(&copy, 0, NBYTES, 600);
    gpu_keep_busy(CUDA_LEGACY_STREAM);
    cuda.cuMemcpyDtoDAsync_v2(address(&out), address(&copy), NBYTES, CUDA_LEGACY_STREAM);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(out.at, NBYTES, MPI_BYTE, 0, 0, NBYTES, MPI_BYTE, win);
    MPI_Win_unlock(0, win);
    received(&window, NBYTES, 600, "the window");
    MPI_Win_free(&win);
    buffer_clear(&window);
    job_result();
}

/* ---- the same where a kernel packs and unpacks */

static void rows_hold(const struct buffer *buffer, uint64_t seed, const char *what)
{
    const size_t nbytes = (size_t)place(ROWS);
    char *got = malloc(nbytes), *wanted = malloc(nbytes);
    int row = 0;

    if (!got || !wanted)
        abort();
    gpu_get(got, buffer->at, nbytes);
    bytes_of_seed(wanted, nbytes, seed);
    while (row < ROWS && memcmp(got + place(row), wanted + place(row), 16) == 0)
        row++;
    expect(row == ROWS, "%s: row %d", what, row);
    free(got);
    free(wanted);
}

/* Behind much work in the legacy stream, if there is one. */
static void copy_later(const struct buffer *to, const struct buffer *source)
{
    buffer_reset(to);
    if (gpu_count == 0)
        return;
    gpu_keep_busy(CUDA_LEGACY_STREAM);
    cuda.cuMemcpyDtoDAsync_v2(address(to), address(source), (size_t)place(ROWS),
                              CUDA_LEGACY_STREAM);
}

static void test_rows(void)
{
    MPI_Datatype rows = irregular();

    job_test("messages of many rows come after what the legacy stream has still to do");
    for (int i = 0; i < 70; i++)
        pass_irregular(); /* until the kernel is loaded */
    for (int i = 0; i < 6; i++) {
        if (job.rank == 0) {
            buffer_fill(i % 2 ? &copy : &out, 0, (size_t)place(ROWS), 400 + (uint64_t)i);
            if (i % 2 && gpu_count > 0)
                copy_later(&out, &copy);
            MPI_Send(i % 2 && gpu_count == 0 ? copy.at : out.at, 1, rows, next, TAG, job.plain);
        }
        if (job.rank == 1) {
            buffer_fill(&in, 0, (size_t)place(ROWS), 500);
            copy_later(&copy, &in);
            MPI_Recv(in.at, 1, rows, last, TAG, job.plain, MPI_STATUS_IGNORE);
            rows_hold(&in, 400 + (uint64_t)i, "received");
            if (gpu_count > 0)
                rows_hold(&copy, 500, "what the stream read before");
        }
    }
    job_result();
    MPI_Type_free(&rows);
}

/* The legacy stream waits for what the program does after the last message. The others, which are there before it, wait
 * for the stream, and stay where they are. */
static void test_others(bool from_host)
{
    enum { OTHERS = 2 };
    MPI_Datatype rows = irregular();
    char *host = malloc(LARGEST), *wanted = malloc(LARGEST), word = 0;
    MPI_Request wanted_one,
        requests[OTHERS + 1] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int flag = 0;

    job_test("a message is not held up by others that wait for the legacy stream%s",
             from_host ? ", behind one into host memory" : "");
    buffer_fill(&out, 0, LARGEST, 700);
    buffer_reset(&in);
    released = waited_in_vain = 0;
    MPI_Barrier(job.plain);
    if (job.rank == 0) {
        if (from_host)
            MPI_Isend(out.at, LARGEST, MPI_BYTE, 1, TAG, job.plain, &requests[0]);
        MPI_Isend(out.at + LARGEST / 2, LARGEST / 2, MPI_BYTE, 1, TAG, job.plain, &requests[1]);
        MPI_Isend(out.at, 1, rows, 1, TAG, job.plain, &requests[2]);
        MPI_Send(&word, 1, MPI_CHAR, 1, TAG + 1, job.plain);
    }
    if (job.rank == 1) {
        if (gpu_count > 0)
            cuda.cuLaunchHostFunc(CUDA_LEGACY_STREAM, wait_for_release, NULL);
        if (from_host)
            MPI_Irecv(host, LARGEST, MPI_BYTE, 0, TAG, job.plain, &requests[0]);
        MPI_Irecv(in.at + LARGEST / 2, LARGEST / 2, MPI_BYTE, 0, TAG, job.plain, &requests[1]);
        MPI_Irecv(in.at, 1, rows, 0, TAG, job.plain, &requests[2]);
        MPI_Irecv(&word, 1, MPI_CHAR, 0, TAG + 1, job.plain, &wanted_one);
        while (!flag)
            MPI_Test(&wanted_one, &flag, MPI_STATUS_IGNORE);
        released = 1;
    }
    MPI_Waitall(OTHERS + 1, requests, MPI_STATUSES_IGNORE);
    if (job.rank == 1 && gpu_count > 0)
        cuda.cuCtxSynchronize();
    expect(!waited_in_vain, "the last message waited for the stream");
    if (job.rank == 1) {
        rows_hold(&in, 700, "the rows");
        bytes_of_seed(wanted, LARGEST, 700);
        expect(!from_host || memcmp(host, wanted, LARGEST) == 0, "the host's bytes");
    }
    free(host);
    free(wanted);
    MPI_Type_free(&rows);
    job_result();
}

/* ---- synchronous copies that return before they are done */

static void test_copied(enum memory kind)
{
    enum { NBYTES = 60000 };
    char *host = malloc(NBYTES);
    struct buffer buffer;
    int missing = !host || buffer_make(&buffer, kind, NBYTES) != 0;

    MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT, MPI_MAX, job.plain);
    job_test("synchronous copies into %s, then messages", memory_name(kind));
    for (int i = 0; i < 60 && !missing; i++) {
        /* Both write; rank 0 then sends, and rank 1 receives over it. */
        bytes_of_seed(host, NBYTES, (uint64_t)(10 * i + job.rank));
        if (gpu_count > 0 && i % 2)
            cuda.cuMemcpyHtoD_v2_ptds(address(&buffer), host, NBYTES);
        else
            gpu_put(buffer.at, host, NBYTES);
        if (job.rank == 0)
            MPI_Send(buffer.at, NBYTES, MPI_BYTE, 1, TAG, job.plain);
        if (job.rank == 1) {
            MPI_Recv(buffer.at, NBYTES, MPI_BYTE, 0, TAG, job.plain, MPI_STATUS_IGNORE);
            if (gpu_count > 0)
                cuda.cuCtxSynchronize();
            received(&buffer, NBYTES, (uint64_t)(10 * i), "received");
        }
    }
    buffer_clear(&buffer);
    free(host);
    if (missing)
        job_skip("the driver has no such memory");
    else
        job_result();
}

int main(void)
{
    job_start(MPI_THREAD_SINGLE);
    next = (job.rank + 1) % job.size;
    last = (job.rank + job.size - 1) % job.size;
    if (gpu_count > 0) {
        cuda.cuStreamCreate(&blocking, 0);
        cuda.cuStreamCreate(&nonblocking, CUDA_STREAM_NON_BLOCKING);
    }
    need_buffer(&out, MEMORY_DEVICE, LARGEST);
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    need_buffer(&copy, MEMORY_DEVICE, LARGEST);
    test_held(blocking, "a blocking stream", "the first ones");
    test_held(blocking, "a blocking stream", "later");
    test_held(nonblocking, "a non-blocking stream", "later");
    test_held(CUDA_PER_THREAD_STREAM, "the per-thread stream", "later");
    test_captured();
    test_written_before();
    test_read_before();
    test_own_window();
    test_rows();
    test_others(false);
    test_others(true);
    test_copied(MEMORY_DEVICE);
    test_copied(MEMORY_POOL);
    test_copied(MEMORY_VMM);
    buffer_clear(&out);
    buffer_clear(&in);
    buffer_clear(&copy);
    if (gpu_count > 0) {
        cuda.cuStreamDestroy_v2(blocking);
        cuda.cuStreamDestroy_v2(nonblocking);
    }
    return job_end();
}
