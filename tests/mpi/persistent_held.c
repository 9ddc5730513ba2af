/* Streams that wait for persistent messages, and calls beside them which must not. For two
 * ranks. `ranks persistent_held full`: a stream takes only a little work, and two threads
 * may be in the library. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 1000
#define STARTS 20

static struct buffer buffer;
static gpubind_request request;
static struct CUstream_st *stream;

/* Rank 0 sends, rank 1 receives; both are linked, and started once. */
static void begin(void)
{
    need_filled(&buffer, MEMORY_DEVICE, BYTES, 1);
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    if (job.rank == 0)
        succeeds(gpubind_send_init(buffer.at, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request),
                 "send_init");
    else
        succeeds(gpubind_recv_init(buffer.at, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request),
                 "recv_init");
    job_barrier();
    succeeds(gpubind_startall_on_stream(1, &request, stream), "startall_on_stream");
    cuda.cuStreamSynchronize(stream);
}

static void end(void)
{
    cuda.cuStreamSynchronize(stream);
    job_barrier();
    succeeds(gpubind_request_free(&request), "request_free");
    cuda.cuStreamDestroy_v2(stream);
    buffer_clear(&buffer);
    job_result();
}

/* Rank 1 starts, frees other memory, and only then lets rank 0 start. */
static void free_beside(bool on_stream)
{
    struct buffer other;

    job_test("gpubind_free beside a receive that waits %s",
             on_stream ? "in a stream" : "since gpubind_start");
    begin();
    need_buffer(&other, MEMORY_OURS, BYTES);
    if (job.rank == 1) {
        if (on_stream)
            succeeds(gpubind_startall_on_stream(1, &request, stream), "startall_on_stream");
        else
            succeeds(gpubind_start(&request), "start");
        buffer_clear(&other);
    }
    job_barrier();
    if (job.rank == 0) {
        buffer_clear(&other);
        succeeds(gpubind_start(&request), "start");
    }
    succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    end();
}

static void *start_many(void *unused)
{
    (void)unused;
    gpu_use(job.local % gpu_count);
    for (int i = 0; i < STARTS; i++)
        succeeds(gpubind_startall_on_stream(1, &request, stream), "startall_on_stream");
    return NULL;
}

/* Rank 1's thread fills its stream; rank 0 starts when rank 1 sends it a message. */
static void full(void)
{
    struct buffer note;
    pthread_t thread;

    job_test("a stream that is full keeps no other thread out of the library");
    if (job.threads < MPI_THREAD_MULTIPLE) {
        job_skip("MPI does not provide MPI_THREAD_MULTIPLE");
        return;
    }
    begin();
    need_filled(&note, MEMORY_DEVICE, BYTES, 2);
    if (job.rank == 1) {
        pthread_create(&thread, NULL, start_many, NULL);
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        succeeds(MPI_GPUSend(note.at, BYTES, MPI_BYTE, 0, 9, MPI_COMM_WORLD), "MPI_GPUSend");
        pthread_join(thread, NULL);
    } else {
        succeeds(MPI_GPURecv(note.at, BYTES, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "MPI_GPURecv");
        start_many(NULL);
    }
    end();
    buffer_clear(&note);
}

void test_persistent_held(void)
{
    if (nargs && strcmp(arguments[0], "full") == 0) {
        full();
        return;
    }
    free_beside(true);
    free_beside(false);
}
