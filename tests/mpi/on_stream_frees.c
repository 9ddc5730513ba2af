/* Memory that peers have mapped is freed while messages are under way on streams and others
 * beside them: a peer closes its mapping when the driver's call for it need not wait for
 * anything that the library has yet to do. */
#include <stdlib.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

#define MESSAGES 6
#define LARGE (1 << 20)

static size_t bytes_of_message(int i)
{
    return i % 2 ? 3000 : LARGE / (size_t)(1 + i);
}

static void send_and_free(void *memory[MESSAGES], gpubind_request *requests)
{
    int i;

    for (int left = MESSAGES; left > 0; left--) {
        succeeds(gpubind_waitany(MESSAGES, requests, &i, MPI_STATUS_IGNORE), "waitany");
        if (expect(i >= 0 && i < MESSAGES, "number %d has ended", i))
            succeeds(gpubind_free(memory[i]), "free");
    }
}

static void turn(int to, int from, const struct buffer *in, const struct buffer *word,
                 struct CUstream_st *stream)
{
    gpubind_request sends[MESSAGES], receives[MESSAGES];
    void *memory[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        const int n = (int)bytes_of_message(i);

        succeeds(gpubind_alloc(&memory[i], bytes_of_message(i)), "alloc");
        succeeds(gpubind_irecv(in->at + (size_t)i * LARGE, n, MPI_BYTE, from, i, MPI_COMM_WORLD,
                               &receives[i]),
                 "irecv");
        if (i % 3 == 0)
            succeeds(
                gpubind_irecv_on_stream(word->at, 64, MPI_BYTE, from, 100, MPI_COMM_WORLD, stream),
                "irecv_on_stream");
        if (i % 3 == 1)
            succeeds(gpubind_quiet_on_stream(stream), "quiet");
    }
    for (int i = 0; i < MESSAGES; i++) {
        const int n = (int)bytes_of_message(i);

        succeeds(gpubind_isend(memory[i], n, MPI_BYTE, to, i, MPI_COMM_WORLD, &sends[i]), "isend");
        if (i % 3 == 0)
            succeeds(MPI_GPUSend(word->at, 64, MPI_BYTE, to, 100, MPI_COMM_WORLD), "send");
    }
    send_and_free(memory, sends);
    succeeds(gpubind_waitall(MESSAGES, receives, MPI_STATUSES_IGNORE), "waitall");
}

/* `ranks on_stream_frees [TURNS]` */
void test_on_stream_frees(void)
{
    const int turns = nargs ? atoi(arguments[0]) : 300;
    const int to = (job.rank + 1) % job.size, from = (job.rank + job.size - 1) % job.size;
    struct CUstream_st *stream = NULL;
    struct buffer in, word;

    job_test("%d turns of messages on a stream and beside it, whose memory is freed", turns);
    if (!gpu_count) {
        job_skip("no GPU");
        return;
    }
    need_buffer(&in, MEMORY_DEVICE, (size_t)MESSAGES * LARGE);
    need_buffer(&word, MEMORY_DEVICE, 64);
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    for (int i = 0; i < turns; i++)
        turn(to, from, &in, &word, stream);
    while (cuda.cuStreamQuery(stream) == CUDA_NOT_READY)
        gpubind_progress();
    job_barrier();
    cuda.cuStreamDestroy_v2(stream);
    buffer_clear(&in);
    buffer_clear(&word);
    job_result();
}
