/* A GPU becomes another rank's, too, while receives wait for a quiet: no kernel may wait in its streams from then on,
 * whatever the calls before have planned. With 4 ranks on 2 GPUs; with more GPUs nothing is shared. */
#include <stdlib.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { BYTES = 512, MANY = 400 };

static struct CUstream_st *stream;
static struct buffer buffer;

static char *piece(int i)
{
    return buffer.at + (size_t)i * BYTES;
}

static void receive(int first, int end, int tag)
{
    for (int i = first; i < end; i++)
        succeeds(gpubind_irecv_on_stream(piece(i), BYTES, MPI_BYTE, 0, tag, MPI_COMM_WORLD, stream),
                 "irecv_on_stream %d", i);
}

static void send(int first, int end, int tag)
{
    for (int i = first; i < end; i++)
        succeeds(gpubind_isend_on_stream(piece(i), BYTES, MPI_BYTE, 1, tag, MPI_COMM_WORLD, stream),
                 "isend_on_stream %d", i);
}

/* Ranks 2 and 3 use the GPUs of 0 and 1. */
static void others_begin(void)
{
    if (job.rank == 2)
        succeeds(gpubind_send_on_stream(piece(0), BYTES, MPI_BYTE, 3, 0, MPI_COMM_WORLD, stream),
                 "send_on_stream");
    if (job.rank == 3)
        succeeds(gpubind_recv_on_stream(piece(0), BYTES, MPI_BYTE, 2, 0, MPI_COMM_WORLD, stream),
                 "recv_on_stream");
    if (job.rank > 1)
        stream_ends(stream);
}

static void wait_for_quiet(int n)
{
    job_test("%d receives before a quiet, and another rank uses the GPU meanwhile", n);
    buffer_reset(&buffer);
    if (job.rank == 0)
        buffer_fill(&buffer, 0, buffer.nbytes, 7);
    if (job.rank == 1)
        receive(0, n, 1);
    job_barrier();
    others_begin();
    job_barrier();
    if (job.rank == 1) {
        receive(n, n + 1, 2); /* the first call that can know of it */
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
    }
    job_barrier();
    if (job.rank == 0) {
        send(0, n, 1);
        send(n, n + 1, 2);
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
    }
    stream_ends(stream);
    expect(job.rank != 1 || buffer_holds(&buffer, 0, (size_t)(n + 1) * BYTES, 7, NULL),
           "of %d messages some have other bytes", n);
    job_result();
}

/* `ranks on_stream_shared N`: each N in a job of its own, since the GPU stays shared. */
void test_on_stream_shared(void)
{
    const int n = nargs > 0 ? atoi(arguments[0]) : 65;

    if (n > MANY || cuda.cuStreamCreate(&stream, 1))
        MPI_Abort(MPI_COMM_WORLD, 2);
    need_buffer(&buffer, MEMORY_DEVICE, (size_t)(MANY + 1) * BYTES);
    wait_for_quiet(n);
    wait_for_quiet(n);
    buffer_clear(&buffer);
    cuda.cuStreamDestroy_v2(stream);
}
