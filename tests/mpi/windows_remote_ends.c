/* Windows and streams that go on without each other: what fails, what is still under way at
 * the end. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/tests.h"
#include "tests/mpi/windows.h"

enum { BYTES = 3000 };

static struct buffer out, in;
static int next_rank, errors;

/* gpubind_win_free waits for what streams were given. */
static void free_at_once(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, WINDOW_BYTES, 1);

    job_test("a window is freed while puts to other ranks are in a stream");
    for (int i = 0; i < 10; i++) {
        gpu_keep_busy(stream);
        succeeds(
            gpubind_put_signal_on_stream(out.at, BYTES, 0, (unsigned)i, next_rank, 0, win, stream),
            "put_signal");
    }
    if (window_pointer(win, next_rank)) /* then the stream itself does it */
        sync_stream();
    window_discard(&win);
    sync_stream();
    job_result();
}

/* Of the rank that has least, so that all ranks go on or end alike. */
static size_t free_memory(void)
{
    unsigned long least;
    size_t nbytes = 0, all;

    cuda.cuMemGetInfo_v2(&nbytes, &all);
    least = nbytes;
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UNSIGNED_LONG, MPI_MIN, job.plain);
    return least;
}

/* A mapping that a held stream keeps open does not keep the memory for ever. */
static void held(void)
{
    enum { WINDOWS = 5 };
    struct CUstream_st *waits;
    gpubind_win wins[WINDOWS];
    size_t before, after = 0;

    job_test("windows that are freed while streams wait for messages give their memory back");
    cuda.cuStreamCreate(&waits, CUDA_STREAM_NON_BLOCKING);
    /* The library takes memory of its own for streams. */
    succeeds(gpubind_quiet_on_stream(waits), "quiet");
    before = free_memory();
    for (int i = 0; i < WINDOWS; i++)
        wins[i] = window_make(MPI_COMM_WORLD, 8 << 20, 1);
    succeeds(
        gpubind_recv_on_stream(in.at, BYTES, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, waits),
        "recv_on_stream");
    for (int i = 0; i < WINDOWS; i++)
        window_discard(&wins[i]);
    job_barrier();
    succeeds(MPI_GPUSend(out.at, BYTES, MPI_BYTE, next_rank, 1, MPI_COMM_WORLD), "send");
    expect(cuda.cuStreamSynchronize(waits) == CUDA_OK, "the waiting stream fails");
    /* Of a real GPU other processes take memory, too. */
    for (int i = 0; i < (gpu_is_simulated() ? 2000 : 1) && after + (8 << 20) <= before; i++) {
        succeeds(gpubind_progress(), "progress");
        job_barrier();
        after = free_memory();
    }
    expect(!gpu_is_simulated() || after + (8 << 20) > before, "%zu bytes were free, now %zu",
           before, after);
    cuda.cuStreamDestroy_v2(waits);
    job_result();
}

/* What is said of a call before does not stop this one. */
static void put(gpubind_win win, unsigned value)
{
    for (int i = 0; i < 5; i++) {
        if (gpubind_put_signal_on_stream(out.at, BYTES, 0, value, next_rank, 0, win, stream) ==
            MPI_SUCCESS)
            return;
        errors++;
        expect(*gpubind_error_text(), "nothing is said");
        if (!strstr(gpubind_error_text(), "an earlier message"))
            return;
    }
}

static bool passes(gpubind_win win, unsigned value)
{
    int good, all_good, before = errors;

    put(win, value);
    cuda.cuStreamSynchronize(stream);
    errors += gpubind_quiet_on_stream(stream) != MPI_SUCCESS;
    good = errors == before;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, job.plain);
    return all_good;
}

/* Calls of the driver fail now and then. */
static void failures(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, BYTES, 1);
    unsigned value;
    int all;

    job_test("calls of the driver fail: it is said, streams go on");
    for (value = 1; value <= 12; value++) {
        put(win, value);
        cuda.cuStreamSynchronize(stream);
    }
    for (; value < 60 && !passes(win, value); value++)
        ;
    expect(value < 60, "no put was right again");
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, job.plain);
    expect(all > 0, "no call said that something failed");
    succeeds(gpubind_get_on_stream(in.at, BYTES, job.rank, 0, win, stream), "get of my own");
    sync_stream();
    received(&in, BYTES, 700 + (uint64_t)((job.rank + job.size - 1) % job.size), "put");
    job_barrier();
    window_discard(&win);
    job_result();
}

/* The end of the library comes while streams still have puts in them. */
static void left(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, WINDOW_BYTES, 1);

    job_test("a window and puts that are left at the end: streams go on, nothing hangs");
    for (int i = 0; i < 5; i++) {
        gpu_keep_busy(stream);
        succeeds(gpubind_put_signal_on_stream(out.at, BYTES, 0, 1, next_rank, 0, win, stream),
                 "put_signal");
    }
    if (window_pointer(win, next_rank))
        sync_stream();
    job_barrier();
    succeeds(gpubind_finalize(), "finalize");
    sync_stream();
    job_result();
}

/* `ranks windows_ends [failures|left]` */
void test_windows_ends(void)
{
    next_rank = (job.rank + 1) % job.size;
    need_filled(&out, MEMORY_DEVICE, BYTES, 700 + (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    if (nargs && strcmp(arguments[0], "failures") == 0) {
        failures();
    } else if (nargs && strcmp(arguments[0], "left") == 0) {
        left();
    } else {
        free_at_once();
        held();
    }
    cuda.cuStreamDestroy_v2(stream);
    buffer_clear(&out);
    buffer_clear(&in);
}
