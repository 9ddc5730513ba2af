/* Windows: what a rank is given, what is refused, how it ends. For any number of ranks, on
 * devices that may or may not reach each other. */
#include "tests/mpi/windows.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/tests.h"

struct CUstream_st *stream;

/* Uneven, and nothing for every third rank from 2 on. */
static size_t bytes_of(int rank)
{
    return rank % 3 == 2 ? 0 : WINDOW_BYTES - 1000 * (size_t)rank;
}

void sync_stream(void)
{
    expect(cuda.cuStreamSynchronize(stream) == CUDA_OK, "the stream fails");
}

void *window_pointer(gpubind_win win, int rank)
{
    void *at = NULL;

    succeeds(gpubind_win_pointer(win, rank, &at, NULL), "win_pointer");
    return at;
}

static bool holds(const void *at, size_t nbytes, uint64_t seed)
{
    char *wanted = malloc(nbytes + 1), *got = malloc(nbytes + 1);
    bool same;

    bytes_of_seed(wanted, nbytes, seed);
    gpu_get(got, at, nbytes);
    same = memcmp(wanted, got, nbytes) == 0;
    free(wanted);
    free(got);
    return same;
}

gpubind_win window_make(MPI_Comm comm, size_t nbytes, int nsignals)
{
    gpubind_win win = GPUBIND_WIN_NULL;

    succeeds(gpubind_win_allocate(comm, nbytes, nsignals, &win), "win_allocate");
    if (win == GPUBIND_WIN_NULL)
        abort();
    return win;
}

void window_discard(gpubind_win *win)
{
    succeeds(gpubind_win_free(win), "win_free");
    expect(*win == GPUBIND_WIN_NULL, "the handle is still there");
}

/* ---- pointers */

static void check_zeros(const char *at, size_t nbytes)
{
    char *got = malloc(nbytes + 1);
    size_t set = 0;

    gpu_get(got, at, nbytes);
    for (size_t i = 0; i < nbytes; i++)
        set += got[i] != 0;
    is_int((long long)set, 0, "bytes that are not 0");
    free(got);
}

static void pointers(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, bytes_of(job.rank), WINDOW_SIGNALS);
    const struct gpubind_device_win *device = NULL;
    char *mine = window_pointer(win, job.rank);

    job_test("pointers: sizes, zeros, and memory that is the same for all");
    expect(!mine == !bytes_of(job.rank), "the own part is at %p", (void *)mine);
    expect((uintptr_t)mine % 256 == 0, "it lies at %p", (void *)mine);
    if (mine) {
        char *bytes = malloc(WINDOW_BYTES);

        check_zeros(mine, bytes_of(job.rank));
        bytes_of_seed(bytes, bytes_of(job.rank), 100 + (uint64_t)job.rank);
        gpu_put(mine, bytes, bytes_of(job.rank));
        free(bytes);
    }
    job_barrier();
    for (int rank = 0; rank < job.size; rank++) {
        void *at = NULL;
        size_t nbytes = 7;

        succeeds(gpubind_win_pointer(win, rank, &at, &nbytes), "win_pointer");
        is_int((long long)nbytes, (long long)bytes_of(rank), "bytes");
        if (at)
            expect(holds(at, nbytes, 100 + (uint64_t)rank), "rank %d's memory differs", rank);
        if (!nargs) /* all are reached */
            expect(!at == !nbytes, "rank %d is at %p", rank, at);
    }
    succeeds(gpubind_win_device(win, &device), "win_device");
    expect(device && gpu_owns(device), "the table is at %p", (const void *)device);
    job_barrier();
    window_discard(&win);
    succeeds(gpubind_win_free(&win), "win_free of no window");
    job_result();
}

/* ---- what is refused */

static void refused(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, 1000, 2), none = GPUBIND_WIN_NULL, old = win;
    struct buffer out;
    void *at;

    job_test("wrong ranks, offsets, signals, buffers and windows are named");
    need_filled(&out, MEMORY_DEVICE, 1000, 1);
    fails(gpubind_win_pointer(win, job.size, &at, NULL), MPI_ERR_RANK, "rank", "a rank too high");
    fails(gpubind_win_pointer(none, 0, &at, NULL), MPI_ERR_WIN, "GPUBIND_WIN_NULL", "no window");
    fails(gpubind_put_on_stream(out.at, 8, job.size, 0, win, stream), MPI_ERR_RANK, "rank",
          "put to a rank too high");
    fails(gpubind_get_on_stream(out.at, 8, -5, 0, win, stream), MPI_ERR_RANK, "-5",
          "get from a rank too low");
    fails(gpubind_put_on_stream(out.at, 8, job.rank, 993, win, stream), MPI_ERR_RMA_RANGE,
          "offset 993", "put over the end");
    fails(gpubind_put_on_stream(out.at, SIZE_MAX, job.rank, 8, win, stream), MPI_ERR_RMA_RANGE,
          "leave", "put of very much");
    fails(gpubind_get_on_stream(out.at, 0, job.rank, 1001, win, stream), MPI_ERR_RMA_RANGE,
          "offset 1001", "get of nothing behind the end");
    fails(gpubind_put_on_stream(NULL, 8, job.rank, 0, win, stream), MPI_ERR_BUFFER, "NULL",
          "put from NULL");
    fails(gpubind_signal_on_stream(2, 1, job.rank, win, stream), MPI_ERR_ARG, "signal 2",
          "a signal too high");
    fails(gpubind_wait_signal_on_stream(-1, 1, win, stream), MPI_ERR_ARG, "signal -1",
          "a negative signal");
    fails(gpubind_win_allocate(MPI_COMM_WORLD, 8, -1, &none), MPI_ERR_ARG, "-1",
          "less than no signals");
    expect(none == GPUBIND_WIN_NULL, "a window was made");
    fails(gpubind_win_allocate(MPI_COMM_WORLD, job.rank == 0 ? SIZE_MAX / 4 : 8, 1, &none),
          MPI_ERR_NO_MEM, "rank 0", "more than there is, at one rank");
    fails(gpubind_win_allocate(MPI_COMM_NULL, 8, 1, &none), MPI_ERR_COMM, "MPI_COMM_NULL",
          "no communicator");
    sync_stream();
    job_barrier();
    window_discard(&win);
    fails(gpubind_put_on_stream(out.at, 8, job.rank, 0, old, stream), MPI_ERR_WIN, "freed",
          "put to a window that was freed");
    fails(gpubind_win_free(&old), MPI_ERR_WIN, "freed", "free again");
    buffer_clear(&out);
    job_result();
}

/* ---- how it ends */

/* Windows of other communicators; a communicator that is freed before its window; a
 * window that messages came from; one that only MPI_Finalize ends. */
static void lives(void)
{
    const int next = (job.rank + 1) % job.size, before = (job.rank + job.size - 1) % job.size;
    struct buffer in;
    gpubind_win win, left;
    MPI_Comm half;
    int size;

    job_test("a window outlives its communicator, and messages come from it");
    MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, -job.rank, &half);
    MPI_Comm_size(half, &size);
    win = window_make(half, WINDOW_BYTES, 1);
    MPI_Comm_free(&half);
    need_buffer(&in, MEMORY_DEVICE, WINDOW_BYTES);
    for (int rank = 0; rank < size; rank++)
        succeeds(gpubind_win_pointer(win, rank, NULL, NULL), "win_pointer");
    fails(gpubind_win_pointer(win, size, NULL, NULL), MPI_ERR_RANK, "rank", "of the half");
    window_discard(&win);

    win = window_make(MPI_COMM_WORLD, WINDOW_BYTES, 1);
    gpu_put(window_pointer(win, job.rank), in.at, 0);
    succeeds(gpubind_sendrecv(window_pointer(win, job.rank), WINDOW_BYTES, MPI_BYTE, next, 1, in.at,
                              WINDOW_BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "sendrecv");
    check_zeros(in.at, WINDOW_BYTES);
    window_discard(&win);
    left = window_make(MPI_COMM_WORLD, WINDOW_BYTES, 1);
    expect(left != GPUBIND_WIN_NULL, "no window");
    buffer_clear(&in);
    job_result();
}

/* Many, one after the other, take no more memory than one: a tenth of the device each. */
static void again(void)
{
    size_t before = 0, after = 0, all = 0;
    gpubind_win win;

    job_test("30 windows after each other leave no memory behind");
    win = window_make(MPI_COMM_WORLD, 8, 1); /* what the driver keeps is there */
    window_discard(&win);
    job_barrier();
    cuda.cuMemGetInfo_v2(&before, &all);
    for (int i = 0; i < 30; i++) {
        win = window_make(MPI_COMM_WORLD, 4 << 20, 1);
        if (i % 3 == 0)
            check_zeros(window_pointer(win, job.rank), 4 << 20);
        gpu_put(window_pointer(win, job.rank), "dirt", 4);
        job_barrier();
        window_discard(&win);
    }
    job_barrier();
    cuda.cuMemGetInfo_v2(&after, &all);
    expect(!gpu_is_simulated() || after + (16u << 20) > before, "%zu bytes were free, now %zu",
           before, after);
    job_result();
}

/* `ranks windows [served|refused]`; without a word all ranks' devices reach each other. */
void test_windows(void)
{
    if (!gpu_count) {
        gpubind_win win = GPUBIND_WIN_NULL;
        size_t nbytes = 7;
        void *at = &win;

        job_test("ranks without a GPU share an empty window, and get no other");
        succeeds(gpubind_win_allocate(MPI_COMM_WORLD, 0, 0, &win), "win_allocate");
        succeeds(gpubind_win_pointer(win, 0, &at, &nbytes), "win_pointer");
        expect(!at && nbytes == 0, "%zu bytes at %p", nbytes, at);
        fails(gpubind_put_on_stream(&nbytes, 8, 0, 0, win, NULL), MPI_ERR_OTHER, "no GPU", "put");
        window_discard(&win);
        fails(gpubind_win_allocate(MPI_COMM_WORLD, 8, 0, &win), MPI_ERR_OTHER, "no GPU",
              "win_allocate of 8 bytes");
        job_result();
        return;
    }
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    pointers();
    windows_on_streams(nargs == 0 || strcmp(arguments[0], "served") == 0);
    refused();
    again();
    lives();
    cuda.cuStreamDestroy_v2(stream);
}

/* `ranks windows_die [put]`: the last rank is killed while the others wait in
 * gpubind_win_free, or their streams for what it would do. Nobody may come to the end. */
void test_windows_die(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, WINDOW_BYTES, 1);
    const uint64_t word = 1;

    job_barrier();
    if (job.rank == job.size - 1)
        abort();
    for (int i = 0; i < 20 && nargs; i++)
        gpubind_put_on_stream(&word, sizeof word, job.size - 1, 0, win, NULL);
    gpubind_win_free(&win);
    for (;;)
        gpubind_progress();
}

/* `ranks windows_fail`: rank 1 cannot make its part; all ranks say so, none has a window. */
void test_windows_fail(void)
{
    gpubind_win win = GPUBIND_WIN_NULL;

    job_test("what one rank cannot, all say");
    for (int i = 0; i < 3; i++) {
        expect(gpubind_win_allocate(MPI_COMM_WORLD, WINDOW_BYTES, 1, &win) != MPI_SUCCESS,
               "it can");
        expect(strstr(gpubind_error_text(), "rank 1: "), "'%s'", gpubind_error_text());
        expect(win == GPUBIND_WIN_NULL, "there is a window");
    }
    job_result();
}
