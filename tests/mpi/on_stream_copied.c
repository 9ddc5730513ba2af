/* A rank queues a message on a stream and waits for the stream in a synchronous copy, in which the driver holds a lock.
 * The other side comes then, and the message needs memory that neither side has used before. For two ranks. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { SMALL = 5000, LARGE = 3 << 20 };

/* Rank 1 maps memory of rank 0's, and the reverse: messages of GPU memory need no host memory any more. */
static void get_acquainted(void)
{
    struct buffer buffer;

    need_filled(&buffer, MEMORY_DEVICE, LARGE, 3);
    for (int from = 0; from < 2; from++) {
        gpubind_request request;

        if (job.rank == from)
            succeeds(gpubind_isend(buffer.at, LARGE, MPI_BYTE, !from, 1, MPI_COMM_WORLD, &request),
                     "isend");
        job_barrier();
        if (job.rank == from)
            succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
        else
            succeeds(
                MPI_GPURecv(buffer.at, LARGE, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                "receive");
    }
    job_barrier();
    buffer_clear(&buffer);
}

/* Rank 1 waits; rank 0's buffer is of that kind. */
static void passed(enum memory kind, int nbytes, bool sends)
{
    struct CUstream_st *stream;
    struct buffer buffer;
    char unread[8];

    job_test("%d bytes %s %s while the other rank waits in a synchronous copy", nbytes,
             sends ? "into" : "from", memory_name(kind));
    is_int(cuda.cuStreamCreate(&stream, 0), CUDA_OK, "cuStreamCreate");
    need_buffer(&buffer, job.rank == 1 ? MEMORY_DEVICE : kind, (size_t)nbytes);
    if (job.rank == sends)
        buffer_fill(&buffer, 0, (size_t)nbytes, 7);
    job_barrier();
    if (job.rank == 0) {
        usleep(100000);
        if (sends)
            succeeds(
                MPI_GPURecv(buffer.at, nbytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                "receive");
        else
            succeeds(MPI_GPUSend(buffer.at, nbytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD), "send");
    } else {
        if (sends)
            succeeds(
                gpubind_send_on_stream(buffer.at, nbytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, stream),
                "send");
        else
            succeeds(
                gpubind_recv_on_stream(buffer.at, nbytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, stream),
                "receive");
        is_int(cuda.cuMemcpyDtoH_v2(unread, address_of(&buffer), sizeof unread), CUDA_OK,
               "cuMemcpyDtoH");
    }
    if (job.rank != sends)
        received(&buffer, (size_t)nbytes, 7, "behind the copy");
    job_barrier();
    buffer_clear(&buffer);
    cuda.cuStreamDestroy_v2(stream);
    job_result();
}

static const struct {
    const char *name;
    enum memory kind;
} kinds[] = {{"host", MEMORY_HOST}, {"pool", MEMORY_POOL}, {"device", MEMORY_DEVICE}};
#define KINDS (sizeof kinds / sizeof *kinds)

/* Arguments: the kind, "small" or "large", "send" or "receive": of rank 1, as the first message of the job. */
void test_on_stream_copied(void)
{
    size_t i = 0;

    while (nargs == 3 && i < KINDS && strcmp(arguments[0], kinds[i].name) != 0)
        i++;
    if (nargs != 3 || i == KINDS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    get_acquainted();
    passed(kinds[i].kind, strcmp(arguments[1], "small") == 0 ? SMALL : LARGE,
           strcmp(arguments[2], "send") == 0);
}
