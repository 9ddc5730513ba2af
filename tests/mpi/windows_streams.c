/* Windows in the order of streams: puts, gets, signals and waits. */
#include "tests/mpi/windows.h"

/* Everybody puts to the next rank and waits for what the rank before puts. late: waits
 * are queued before anything is put; else after. */
static void ring(bool late)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, WINDOW_BYTES, WINDOW_SIGNALS);
    const int next = (job.rank + 1) % job.size, before = (job.rank + job.size - 1) % job.size;
    struct buffer out, in;

    job_test("put_signal and wait_signal round a ring, %s first", late ? "waits" : "puts");
    need_filled(&out, MEMORY_DEVICE, WINDOW_BYTES, 200 + (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, WINDOW_BYTES);
    for (int turn = 1; turn <= 3; turn++) {
        const size_t nbytes = WINDOW_BYTES / (size_t)turn;

        job_barrier();
        buffer_reset(&in);
        if (!late)
            succeeds(gpubind_put_signal_on_stream(out.at, nbytes, 1, (unsigned)turn, next, 0, win,
                                                  stream),
                     "put_signal");
        if (!late)
            job_barrier();
        /* What is waited for sits in a stream of its own: nobody waits for the other. */
        struct CUstream_st *waits;
        cuda.cuStreamCreate(&waits, CUDA_STREAM_NON_BLOCKING);
        succeeds(gpubind_wait_signal_on_stream(1, (unsigned)turn, win, waits), "wait_signal");
        succeeds(gpubind_get_on_stream(in.at, nbytes, job.rank, 0, win, waits), "get of my own");
        if (late) {
            job_barrier();
            gpu_keep_busy(stream);
            expect(cuda.cuStreamQuery(waits) == CUDA_NOT_READY,
                   "nothing was put, but the wait ends");
            job_barrier();
            succeeds(gpubind_put_signal_on_stream(out.at, nbytes, 1, (unsigned)turn, next, 0, win,
                                                  stream),
                     "put_signal");
        }
        expect(cuda.cuStreamSynchronize(waits) == CUDA_OK, "the waiting stream fails");
        cuda.cuStreamDestroy_v2(waits);
        received(&in, nbytes, 200 + (uint64_t)before, "put");
        sync_stream();
    }
    job_barrier();
    window_discard(&win);
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

/* All ranks' parts, from host memory and from GPU memory, at odd places. */
static void puts_and_gets(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, WINDOW_BYTES, 0);
    const size_t piece = 997;
    struct buffer out[2], in;

    job_test("puts to, and gets from, every rank at odd offsets, of either memory");
    need_filled(&out[0], MEMORY_DEVICE, piece, 300 + (uint64_t)job.rank);
    need_filled(&out[1], MEMORY_PINNED, piece, 300 + (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, piece);
    for (int rank = 0; rank < job.size; rank++)
        succeeds(gpubind_put_on_stream(out[rank % 2].at, piece, rank, (size_t)job.rank * piece + 3,
                                       win, stream),
                 "put to rank %d", rank);
    sync_stream();
    job_barrier();
    for (int rank = 0; rank < job.size; rank++)
        for (int from = 0; from < job.size; from++) {
            buffer_reset(&in);
            succeeds(
                gpubind_get_on_stream(in.at, piece, rank, (size_t)from * piece + 3, win, stream),
                "get from rank %d", rank);
            sync_stream();
            received(&in, piece, 300 + (uint64_t)from, "get");
        }
    succeeds(gpubind_put_on_stream(NULL, 0, 0, WINDOW_BYTES, win, stream),
             "put of nothing at the end");
    succeeds(gpubind_put_on_stream(out[0].at, piece, MPI_PROC_NULL, 0, win, stream),
             "put to MPI_PROC_NULL");
    job_barrier();
    window_discard(&win);
    buffer_clear(&out[0]);
    buffer_clear(&out[1]);
    buffer_clear(&in);
    job_result();
}

/* A signal says nothing before the stream's earlier work is done. */
static void order(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, 8, WINDOW_SIGNALS);
    struct CUstream_st *other;

    job_test("a signal comes after the stream's earlier work; 64 bits count");
    cuda.cuStreamCreate(&other, CUDA_STREAM_NON_BLOCKING);
    succeeds(gpubind_wait_signal_on_stream(0, 5ull << 40, win, other), "wait_signal");
    gpu_keep_busy(stream);
    succeeds(gpubind_signal_on_stream(0, (5ull << 40) - 1, job.rank, win, stream), "signal");
    sync_stream();
    expect(cuda.cuStreamQuery(other) == CUDA_NOT_READY, "a smaller value ends the wait");
    succeeds(gpubind_signal_on_stream(0, (5ull << 40) + 1, job.rank, win, stream), "signal");
    sync_stream();
    expect(cuda.cuStreamSynchronize(other) == CUDA_OK, "the waiting stream fails");
    cuda.cuStreamDestroy_v2(other);
    job_barrier();
    window_discard(&win);
    job_result();
}

void windows_on_streams(bool reached)
{
    if (reached) {
        ring(false);
        ring(true);
        puts_and_gets();
    }
    order();
}
