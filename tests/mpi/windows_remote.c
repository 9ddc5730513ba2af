/* Windows of ranks that do not reach each other: what is put there goes through the
 * library, and comes in the streams' order. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/tests.h"
#include "tests/mpi/windows.h"

enum { CAME, USED, STEPS = 20, LARGE = 3 << 20, STREAMS = 12, PUTS = 30, PIECE = 56 };

static int next_rank, before;

static cuda_address at(const struct buffer *buffer)
{
    return (cuda_address)(uintptr_t)buffer->at;
}

static void no_pointers(bool refused)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, WINDOW_BYTES, 1);
    const char word = 1;
    size_t nbytes;
    void *pointer;

    job_test("other GPUs that cannot be reached have no pointer%s",
             refused ? ", and puts say why" : "");
    for (int rank = 0; rank < job.size; rank++) {
        succeeds(gpubind_win_pointer(win, rank, &pointer, &nbytes), "win_pointer");
        expect(nbytes == WINDOW_BYTES, "rank %d: %zu bytes", rank, nbytes);
        if (rank == job.rank || job.size == 2) /* more may share a device */
            expect(!pointer == (rank != job.rank), "rank %d is at %p", rank, pointer);
        succeeds(gpubind_put_on_stream(&word, 0, rank, 0, win, stream), "put of nothing");
        if (rank == job.rank || !refused)
            continue;
        fails(gpubind_put_on_stream(&word, 1, rank, 0, win, stream), MPI_ERR_OTHER,
              "MPI_THREAD_MULTIPLE", "put");
        fails(gpubind_signal_on_stream(0, 1, rank, win, stream), MPI_ERR_OTHER,
              "MPI_THREAD_MULTIPLE", "signal");
    }
    sync_stream();
    window_discard(&win);
    job_result();
}

/* Two streams a rank, for all steps at once: what is put is made and overwritten by the
 * stream, what came is used before the next comes. */
static void steps_ahead(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, LARGE, 2);
    struct CUstream_st *waits;
    struct buffer out, in;

    job_test("%d steps of put, signal, use and signal back, all queued at once", STEPS);
    cuda.cuStreamCreate(&waits, CUDA_STREAM_NON_BLOCKING);
    need_buffer(&out, MEMORY_DEVICE, LARGE);
    need_buffer(&in, MEMORY_DEVICE, (size_t)STEPS * LARGE / 8);
    for (unsigned step = 1; step <= STEPS; step++) {
        const size_t nbytes = step % 5 == 0 ? LARGE / 8 : step % 2 ? 3000 : 70001;
        const cuda_address to = at(&in) + (step - 1) * (LARGE / 8);

        gpu_keep_busy(stream);
        cuda.cuMemsetD8Async(at(&out), (unsigned char)(step + 10 * (unsigned)job.rank), nbytes,
                             stream);
        succeeds(
            gpubind_put_signal_on_stream(out.at, nbytes, CAME, step, next_rank, 8, win, stream),
            "put_signal %u", step);
        cuda.cuMemsetD8Async(at(&out), 0, nbytes, stream);
        succeeds(gpubind_wait_signal_on_stream(USED, step, win, stream), "wait for used");
        succeeds(gpubind_wait_signal_on_stream(CAME, step, win, waits), "wait for data");
        cuda.cuMemcpyDtoDAsync_v2(to, (cuda_address)(uintptr_t)window_pointer(win, job.rank) + 8,
                                  nbytes, waits);
        succeeds(gpubind_signal_on_stream(USED, step, before, win, waits), "signal");
    }
    expect(cuda.cuStreamSynchronize(waits) == CUDA_OK, "the waiting stream fails");
    sync_stream();
    for (unsigned step = 1; step <= STEPS; step++) {
        const size_t nbytes = step % 5 == 0 ? LARGE / 8 : step % 2 ? 3000 : 70001;
        char *got = malloc(nbytes), wanted = (char)(step + 10 * (unsigned)before);
        size_t wrong = 0;

        gpu_get(got, in.at + (step - 1) * (LARGE / 8), nbytes);
        for (size_t i = 0; i < nbytes; i++)
            wrong += got[i] != wanted;
        expect(wrong == 0, "step %u: %zu of %zu bytes are wrong", step, wrong, nbytes);
        free(got);
    }
    cuda.cuStreamDestroy_v2(waits);
    job_barrier();
    window_discard(&win);
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

/* Later work of the stream has what was got (the driver reads pageable memory at once);
 * what the stream passed is at the target. */
static void large(enum memory kind)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, LARGE, 0);
    struct buffer out, in, copied;

    job_test("%d bytes put from, and got into, %s", LARGE, memory_name(kind));
    need_filled(&out, kind, LARGE, 500 + (uint64_t)job.rank);
    need_buffer(&in, kind, LARGE);
    need_buffer(&copied, MEMORY_DEVICE, LARGE);
    succeeds(gpubind_put_on_stream(out.at, LARGE, next_rank, 0, win, stream), "put");
    succeeds(gpubind_get_on_stream(in.at, LARGE, next_rank, 0, win, stream), "get");
    if (kind == MEMORY_HOST)
        sync_stream();
    cuda.cuMemcpyAsync(at(&copied), at(&in), LARGE, stream);
    sync_stream();
    received(&copied, LARGE, 500 + (uint64_t)job.rank, "what I put");
    job_barrier();
    buffer_reset(&in);
    succeeds(gpubind_get_on_stream(in.at, LARGE, job.rank, 0, win, stream), "get of my own");
    sync_stream();
    received(&in, LARGE, 500 + (uint64_t)before, "what was put to me");
    job_barrier();
    window_discard(&win);
    buffer_clear(&out);
    buffer_clear(&in);
    buffer_clear(&copied);
    job_result();
}

/* The others' parts of window: a piece for each origin, stream and put. */
static size_t place_of(int origin, int i, int n)
{
    return (((size_t)origin * STREAMS + (size_t)i) * PUTS + (size_t)n) * PIECE;
}

/* The target makes no call meanwhile. A real GPU has few queues for streams that wait. */
static void many(void)
{
    const int n = gpu_is_simulated() ? STREAMS : 3;
    const size_t all = place_of(job.size, 0, 0);
    gpubind_win win = window_make(MPI_COMM_WORLD, all, STREAMS * job.size);
    struct CUstream_st *streams[STREAMS];
    struct buffer out, in;

    job_test("%d puts on each of %d streams to every rank, which does nothing for them", PUTS, n);
    need_filled(&out, MEMORY_DEVICE, PIECE * (size_t)PUTS, 600 + (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, PIECE * (size_t)PUTS);
    for (int i = 0; i < n; i++)
        cuda.cuStreamCreate(&streams[i], CUDA_STREAM_NON_BLOCKING);
    for (int k = 0; k < PUTS * n * job.size; k++) {
        const int put = k / n / job.size, i = k % n, rank = k / n % job.size;

        succeeds(gpubind_put_signal_on_stream(out.at + (size_t)put * PIECE, PIECE,
                                              job.rank * STREAMS + i, (unsigned)put + 1, rank,
                                              place_of(job.rank, i, put), win, streams[i]),
                 "put %d to rank %d", put, rank);
    }
    for (int i = 0; i < n; i++)
        expect(cuda.cuStreamSynchronize(streams[i]) == CUDA_OK, "a stream fails");
    job_barrier();
    for (int rank = 0; rank < job.size; rank++)
        for (int i = 0; i < n; i++) {
            buffer_reset(&in);
            succeeds(gpubind_wait_signal_on_stream(rank * STREAMS + i, PUTS, win, streams[i]),
                     "wait for the last");
            succeeds(gpubind_get_on_stream(in.at, PIECE * (size_t)PUTS, job.rank,
                                           place_of(rank, i, 0), win, streams[i]),
                     "get of my own");
            cuda.cuStreamSynchronize(streams[i]);
            received(&in, PIECE * (size_t)PUTS, 600 + (uint64_t)rank, "all puts");
        }
    for (int i = 0; i < n; i++)
        cuda.cuStreamDestroy_v2(streams[i]);
    job_barrier();
    window_discard(&win);
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

/* A stream that waits for what the library has to set does not stop it. */
static void frees_meanwhile(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, 8, 1);
    struct CUstream_st *waits;
    void *memory[3];

    job_test("memory is freed while a stream waits for a signal that the library sets");
    cuda.cuStreamCreate(&waits, CUDA_STREAM_NON_BLOCKING);
    for (int i = 0; i < 3; i++)
        succeeds(gpubind_alloc(&memory[i], 1 << 20), "alloc");
    succeeds(gpubind_wait_signal_on_stream(0, 1, win, waits), "wait_signal");
    for (int i = 0; i < 3; i++)
        succeeds(gpubind_free(memory[i]), "free");
    job_barrier();
    succeeds(gpubind_signal_on_stream(0, 1, next_rank, win, stream), "signal");
    sync_stream();
    expect(cuda.cuStreamSynchronize(waits) == CUDA_OK, "the waiting stream fails");
    cuda.cuStreamDestroy_v2(waits);
    job_barrier();
    window_discard(&win);
    job_result();
}

static void bad(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, 100, 1);
    struct CUgraph_st *graph = NULL;
    struct CUstream_st *captured;
    char byte = 1;

    job_test("what is wrong is said at once; a capture is refused, and not spoilt");
    fails(gpubind_put_on_stream(&byte, 1, next_rank, 100, win, stream), MPI_ERR_RMA_RANGE,
          "offset 100", "put over the end");
    fails(gpubind_get_on_stream(NULL, 1, next_rank, 0, win, stream), MPI_ERR_BUFFER, "NULL",
          "get into NULL");
    fails(gpubind_signal_on_stream(1, 1, next_rank, win, stream), MPI_ERR_ARG, "signal 1",
          "a signal too high");
    fails(gpubind_put_signal_on_stream(&byte, 1, 0, 1, job.size, 0, win, stream), MPI_ERR_RANK,
          "rank", "a rank too high");
    succeeds(gpubind_put_signal_on_stream(&byte, 1, 0, 1, MPI_PROC_NULL, 0, win, stream),
             "MPI_PROC_NULL");
    succeeds(gpubind_put_signal_on_stream(NULL, 0, 0, 7, next_rank, 100, win, stream),
             "a signal without data");
    succeeds(gpubind_wait_signal_on_stream(0, 7, win, stream), "wait");
    sync_stream();
    cuda.cuStreamCreate(&captured, CUDA_STREAM_NON_BLOCKING);
    cuda.cuStreamBeginCapture_v2(captured, 0);
    if (!window_pointer(win, next_rank))
        fails(gpubind_put_on_stream(&byte, 1, next_rank, 0, win, captured), MPI_ERR_OTHER,
              "captured", "put into a graph");
    is_int(cuda.cuStreamEndCapture(captured, &graph), CUDA_OK, "the capture's end");
    expect(graph, "the capture was spoilt");
    if (graph && cuda.cuGraphDestroy)
        cuda.cuGraphDestroy(graph);
    cuda.cuStreamDestroy_v2(captured);
    job_barrier();
    window_discard(&win);
    job_result();
}

/* `ranks windows_apart served|refused`: devices that do not reach each other. */
void test_windows_apart(void)
{
    const bool refused = strcmp(arguments[0], "refused") == 0;

    next_rank = (job.rank + 1) % job.size;
    before = (job.rank + job.size - 1) % job.size;
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    no_pointers(refused);
    if (!refused) {
        steps_ahead();
        large(MEMORY_DEVICE);
        large(MEMORY_PINNED);
        large(MEMORY_HOST);
        many();
        frees_meanwhile();
        bad();
    }
    cuda.cuStreamDestroy_v2(stream);
    test_windows();
}
