/* What a synchronous copy of the application has returned from is sent, and what is received is
 * not written over by it, though the driver may return from such a call before its end. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define NBYTES 60000 /* of pageable memory: left under way */
#define ROUNDS 40

static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_POOL, MEMORY_MANAGED, MEMORY_VMM,
                                    MEMORY_OURS};
static char *host;
static struct buffer scratch;

static cuda_address address(const char *at)
{
    return (cuda_address)(uintptr_t)at;
}

/* From host memory, or from other GPU memory. */
static void copy_in(const struct buffer *buffer, uint64_t seed, bool from_gpu)
{
    bytes_of_seed(host, NBYTES, seed);
    if (!from_gpu) {
        cuda.cuMemcpyHtoD_v2(address(buffer->at), host, NBYTES);
        return;
    }
    buffer_fill(&scratch, 0, NBYTES, seed);
    cuda.cuMemcpyDtoD_v2(address(buffer->at), address(scratch.at), NBYTES);
}

/* Both ranks write into the buffer; rank 0 then sends it, and rank 1 receives over it. */
static void message(const struct buffer *buffer, uint64_t seed, bool from_gpu, bool blocking)
{
    gpubind_request request;

    if (gpu_count > 0)
        copy_in(buffer, job.rank == 0 ? seed : seed + 1, from_gpu);
    else
        buffer_fill(buffer, 0, NBYTES, seed);
    if (job.rank == 0 && blocking)
        succeeds(MPI_GPUSend(buffer->at, NBYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD), "send");
    else if (job.rank == 0)
        succeeds(gpubind_isend(buffer->at, NBYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request),
                 "isend");
    else
        succeeds(gpubind_irecv(buffer->at, NBYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request),
                 "irecv");
    if (job.rank == 1 || !blocking)
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    if (job.rank == 1) {
        cuda.cuCtxSynchronize();
        received(buffer, NBYTES, seed,
                 from_gpu ? "copied from GPU memory" : "copied from the host");
    }
}

static int make(struct buffer *buffer, enum memory kind)
{
    int missing = buffer_make(buffer, kind, NBYTES) != 0;

    MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT, MPI_MAX, job.plain);
    return missing;
}

/* Memory that is used for the first time, and again. */
static void test_kind(enum memory kind)
{
    struct buffer buffer;
    int missing = 0;

    job_test("synchronous copies into %s, then messages", memory_name(kind));
    for (int i = 0; i < ROUNDS && !missing; i++) {
        missing = make(&buffer, kind);
        for (int again = 0; again < 3 && !missing; again++)
            message(&buffer, (uint64_t)(100 * i + 10 * again + 7), i % 2, again == 1 && i % 3 == 0);
        buffer_clear(&buffer);
    }
    if (missing)
        job_skip("the driver has no such memory");
    else
        job_result();
}

/* Earlier work in the legacy stream. */
static void hold_up(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, 100000000}, NULL);
}

enum next { BARRIER, FREED, BEHIND_OTHERS };

/* Nobody waits for it alone until its receiver has it. */
static void send_unwaited(const struct buffer *buffer, enum next next)
{
    gpubind_request requests[6];
    int answers[5];

    buffer_fill(buffer, 0, NBYTES, 1);
    if (gpu_count > 0) {
        cuda.cuLaunchHostFunc(CUDA_LEGACY_STREAM, hold_up, NULL);
        cuda.cuMemcpyDtoDAsync_v2(address(buffer->at), address(scratch.at), NBYTES,
                                  CUDA_LEGACY_STREAM);
    } else {
        buffer_fill(buffer, 0, NBYTES, 77);
    }
    for (int i = 0; i < 5; i++)
        succeeds(gpubind_irecv(&answers[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[i]),
                 "irecv");
    succeeds(gpubind_isend(buffer->at, NBYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[5]),
             "isend");
    if (next == FREED)
        succeeds(gpubind_request_free(&requests[5]), "request_free");
    if (next != BEHIND_OTHERS)
        MPI_Barrier(MPI_COMM_WORLD);
    succeeds(gpubind_waitall(6, requests, MPI_STATUSES_IGNORE), "waitall");
    if (next == BEHIND_OTHERS)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void test_unwaited(enum next next)
{
    static const char *const names[] = {"a barrier", "its request freed, a barrier",
                                        "a wait for others, too"};
    struct buffer buffer;

    job_test("isend while a copy writes what is sent, then %s", names[next]);
    need_buffer(&buffer, MEMORY_DEVICE, NBYTES);
    buffer_fill(&scratch, 0, NBYTES, 77);
    if (job.rank == 0)
        send_unwaited(&buffer, next);
    if (job.rank == 1) {
        succeeds(MPI_GPURecv(buffer.at, NBYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        for (int i = 0; i < 5; i++)
            succeeds(MPI_GPUSend(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD), "send");
        MPI_Barrier(MPI_COMM_WORLD);
        received(&buffer, NBYTES, 77, "sent behind the copy");
    }
    buffer_clear(&buffer);
    job_result();
}

void test_sync_copies(void)
{
    host = malloc(NBYTES);
    if (!host)
        abort();
    need_buffer(&scratch, MEMORY_DEVICE, NBYTES);
    /* Before anything makes the whole context synchronous. */
    for (enum next next = BARRIER; next <= BEHIND_OTHERS; next++)
        test_unwaited(next);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        test_kind(kinds[i]);
    buffer_clear(&scratch);
    free(host);
}
