/* What a synchronous copy of the application has returned from is sent, and what is received is
 * not written over by it, though the driver may return from such a call before its end. */
#include <stdlib.h>
#include <string.h>

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
        received(buffer, NBYTES, seed, from_gpu ? "copied from GPU memory" : "copied from the host");
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

void test_sync_copies(void)
{
    host = malloc(NBYTES);
    if (!host)
        abort();
    need_buffer(&scratch, MEMORY_DEVICE, NBYTES);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        test_kind(kinds[i]);
    buffer_clear(&scratch);
    free(host);
}
