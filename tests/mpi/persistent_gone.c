/* `ranks persistent_gone WHAT`: rank 1 is killed, and what rank 0 has started comes to an end,
 * with an error from the next start or wait. The job has to outlive a rank. WHAT: later (rank 0 starts on
 * a stream afterwards), waiting (it has started, and does nothing for the library), middle (in the
 * middle of many exchanges), host (gpubind_start), message (without a channel). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 100000

static struct buffer out, in;
static gpubind_request requests[2];
static struct CUstream_st *stream;

static bool is(const char *what)
{
    return nargs && strcmp(arguments[0], what) == 0;
}

static int exchange(void)
{
    const int status = gpubind_startall_on_stream(2, requests, stream);

    cuda.cuStreamSynchronize(stream);
    return status;
}

static void set_up(void)
{
    need_filled(&out, MEMORY_DEVICE, BYTES, (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    succeeds(gpubind_recv_init(in.at, BYTES, MPI_BYTE, !job.rank, 1, MPI_COMM_WORLD, &requests[0]),
             "recv_init");
    succeeds(gpubind_send_init(out.at, BYTES, MPI_BYTE, !job.rank, 1, MPI_COMM_WORLD, &requests[1]),
             "send_init");
    job_barrier();
    for (int i = 0; i < 2 && !is("message"); i++)
        succeeds(exchange(), "startall_on_stream");
}

static void die(int unused)
{
    (void)unused;
    raise(SIGKILL);
}

/* Rank 1. */
static void end(void)
{
    const struct timespec soon = {0, 300000000};

    if (is("middle")) {
        signal(SIGALRM, die);
        ualarm(200000, 0);
        for (;;)
            exchange();
    }
    if (!is("later"))
        nanosleep(&soon, NULL); /* rank 0 has started what waits */
    die(0);
}

/* The results of the others cannot be had: each fault is said at once. */
static void is_error(int status, const char *what)
{
    if (status != MPI_SUCCESS && strstr(gpubind_error_text(), "gone"))
        return;
    printf("fault: %s: status %d, '%s'\n", what, status, gpubind_error_text());
}

/* Rank 0. */
static void live_on(void)
{
    int status = MPI_SUCCESS;

    if (is("later"))
        sleep(1);
    if (is("host") || is("message"))
        succeeds(gpubind_startall(2, requests), "startall");
    for (int i = 0; i < 3 && status == MPI_SUCCESS && (is("later") || is("waiting")); i++)
        status = gpubind_startall_on_stream(2, requests, stream);
    cuda.cuStreamSynchronize(stream);
    while (is("middle") && status == MPI_SUCCESS) {
        status = exchange();
        if (status == MPI_SUCCESS)
            status = gpubind_wait(&requests[0], MPI_STATUS_IGNORE);
    }
    if (!is("middle") && status == MPI_SUCCESS)
        status = gpubind_wait(&requests[0], MPI_STATUS_IGNORE);
    is_error(status, "a start, or the wait");
    gpubind_wait(&requests[1], MPI_STATUS_IGNORE);
    if (!is("message"))
        is_error(gpubind_startall_on_stream(1, requests, stream), "the next start");
}

void test_persistent_gone(void)
{
    set_up();
    job_barrier();
    if (job.rank == 1)
        end();
    live_on();
    puts("ended");
    fflush(stdout);
    _exit(0);
}
