/* Calls of the driver that fail, where and when the environment says. A message may
 * then fail, at either rank, with an error; it may not hang, nor may its data be wrong
 * where its receive succeeds; and the messages after it are right. For two ranks;
 * rank 1 sends to rank 0, then the other way round. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST 3000000

static const int sizes[] = {64, 70001, 4096, LARGEST, 1, 300000};
static struct buffer out, in;
static int failed;
static bool strided;

/* What a call may say: nothing, or a class of MPI's and a sentence. */
static void proper(int status, const char *what)
{
    int class = 0, last, flag, *most;

    if (status == MPI_SUCCESS)
        return;
    failed++;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &most, &flag);
    last = flag ? *most : MPI_ERR_LASTCODE;
    expect(status > 0 && status <= last, "%s: status %d is no error class", what, status);
    MPI_Error_class(status, &class);
    expect(*gpubind_error_text() != '\0', "%s: class %d, and no text", what, class);
    if (getenv("TEST_VERBOSE"))
        fprintf(stderr, "# rank %d, %s: %d, %s\n", job.rank, what, class, gpubind_error_text());
}

/* Elements of a message: bytes, or one element of blocks with as much between them. */
static MPI_Datatype make_type(size_t nbytes, int i)
{
    const size_t block = nbytes % 8 ? 1 : 8, n = nbytes / block;
    MPI_Aint *places;
    MPI_Datatype type;

    if (!strided) {
        MPI_Type_contiguous((int)nbytes, MPI_BYTE, &type);
    } else if (i % 3) {
        MPI_Type_vector((int)n, (int)block, (int)(2 * block), MPI_BYTE, &type);
    } else { /* the blocks have no order */
        places = malloc(n * sizeof *places);
        for (size_t b = 0; b < n; b++)
            places[b] = (MPI_Aint)(2 * block * (b < n / 2 ? n / 2 - 1 - b : b));
        MPI_Type_create_hindexed_block((int)n, (int)block, places, MPI_BYTE, &type);
        free(places);
    }
    MPI_Type_commit(&type);
    return type;
}

/* The bytes of a message between a dense buffer and the type's places in GPU memory. */
static void put_or_get(char *at, char *dense, size_t nbytes, MPI_Datatype type, bool put)
{
    char *image = malloc(2 * nbytes);
    int position = 0;

    gpu_get(image, at, 2 * nbytes);
    if (put) {
        MPI_Unpack(dense, (int)nbytes, &position, image, 1, type, MPI_COMM_SELF);
        gpu_put(at, image, 2 * nbytes);
    } else {
        MPI_Pack(image, 1, type, dense, (int)nbytes, &position, MPI_COMM_SELF);
    }
    free(image);
}

static void fill(char *at, size_t nbytes, int i, MPI_Datatype type)
{
    char *dense = malloc(nbytes);

    bytes_of_seed(dense, nbytes, (uint64_t)i);
    put_or_get(at, dense, nbytes, type, true);
    free(dense);
}

static void compare(char *at, size_t nbytes, int i, MPI_Datatype type)
{
    char *dense = malloc(2 * nbytes), *wanted = dense + nbytes;

    if (!strided)
        received(&in, nbytes, (uint64_t)i, "a receive that succeeded");
    bytes_of_seed(wanted, nbytes, (uint64_t)i);
    put_or_get(at, dense, nbytes, type, false);
    expect(memcmp(dense, wanted, nbytes) == 0,
           "a receive of %zu bytes succeeded, the data are "
           "wrong",
           nbytes);
    free(dense);
}

/* The i-th message of a series, received into memory of either kind, by either verb. */
static void pass(int i, int sender)
{
    size_t nbytes = (size_t)sizes[i % 6] /
                    (strided && i % 6 != 4 ? 4 : 1); /* MPI's types are slow */
    gpubind_request request = GPUBIND_REQUEST_NULL;
    MPI_Datatype type = make_type(nbytes, i);
    int status = MPI_SUCCESS;

    if (job.rank == sender) {
        fill(out.at, nbytes, i, type);
        if (i % 4 < 2) {
            proper(MPI_GPUSend(out.at, 1, type, !sender, i, MPI_COMM_WORLD), "send");
        } else {
            status = gpubind_isend(out.at, 1, type, !sender, i, MPI_COMM_WORLD, &request);
            proper(status, "isend");
            if (status == MPI_SUCCESS)
                proper(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait for a send");
        }
        MPI_Type_free(&type);
        return;
    }
    buffer_reset(&in);
    if (i % 2) {
        status = MPI_GPURecv(in.at, 1, type, sender, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        proper(status, "receive");
    } else {
        status = gpubind_irecv(in.at, 1, type, sender, i, MPI_COMM_WORLD, &request);
        proper(status, "irecv");
        if (status == MPI_SUCCESS) {
            status = gpubind_wait(&request, MPI_STATUS_IGNORE);
            proper(status, "wait for a receive");
        }
    }
    if (status == MPI_SUCCESS)
        compare(in.at, nbytes, i, type);
    MPI_Type_free(&type);
}

/* Several strided messages of one sender under way at once. */
static void burst(int i, int sender)
{
    enum { N = 3, APART = LARGEST / 2 };
    static const size_t lengths[N] = {64, 300000, 70001};
    gpubind_request requests[N];
    int started[N];

    for (int k = 0; k < N; k++) {
        const struct buffer *buffer = job.rank == sender ? &out : &in;
        char *at = buffer->at + k * APART;
        MPI_Datatype type = make_type(lengths[k], i + k);

        if (job.rank == sender)
            fill(at, lengths[k], i + k, type);
        started[k] = job.rank == sender ? gpubind_isend(at, 1, type, !sender, 100 + k,
                                                        MPI_COMM_WORLD, &requests[k])
                                        : gpubind_irecv(at, 1, type, sender, 100 + k,
                                                        MPI_COMM_WORLD, &requests[k]);
        proper(started[k], "isend or irecv");
        MPI_Type_free(&type);
    }
    for (int k = 0; k < N; k++) {
        MPI_Datatype type = make_type(lengths[k], i + k);
        int status = started[k];

        if (status == MPI_SUCCESS)
            proper(status = gpubind_wait(&requests[k], MPI_STATUS_IGNORE), "wait in a burst");
        if (job.rank != sender && status == MPI_SUCCESS)
            compare(in.at + k * APART, lengths[k], i + k, type);
        MPI_Type_free(&type);
    }
}

/* What all ranks reported since the last time. */
static int failures_of_all(void)
{
    int sum;

    MPI_Allreduce(&failed, &sum, 1, MPI_INT, MPI_SUM, job.plain);
    failed = 0;
    return sum;
}

/* The last of the faults may still come, then no more. */
static void all_right_then(int next, int sum)
{
    job_test("then all is right");
    for (int round = 0; sum > 0 && round < 10; round++) {
        for (int i = 0; i < 24; i++, next++)
            pass(next, i / 6 % 2);
        sum = failures_of_all();
    }
    is_int(sum, 0, "failures that were reported at last");
    job_result();
}

/* `ranks failures [some] [strided]`. some: the environment's faults are a few, which must be seen
 * in at least one of the messages. */
void test_failures(void)
{
    bool some = nargs && strcmp(arguments[0], "some") == 0;
    int sum = 1, next = 24;

    strided = nargs && strcmp(arguments[nargs - 1], "strided") == 0;
    need_buffer(&out, MEMORY_DEVICE, 2 * LARGEST);
    need_buffer(&in, MEMORY_DEVICE, 2 * LARGEST);
    job_test("an error or the right data");
    for (int i = 0; i < next; i++)
        pass(i, i / 6 % 2);
    for (int i = 0; i < 6 && strided; i++)
        burst(i, i % 2);
    sum = failures_of_all();
    if (some)
        expect(sum > 0, "no message failed");
    job_result();
    if (some)
        all_right_then(next, sum);
    buffer_clear(&out);
    buffer_clear(&in);
}

/* Rank 1 maps memory once, and none after that, as the environment's faults say: also not rank 0's bounce buffer. */
void test_bounce_refused(void)
{
    struct buffer pool; /* it has no handle, so that it goes through that */

    need_filled(&out, MEMORY_DEVICE, LARGEST, 1);
    need_filled(&pool, MEMORY_POOL, LARGEST, 2);
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    job_test("bounce buffers of the sender's GPU that the receiver cannot map");
    for (int i = 0; i < 4; i++) {
        const struct buffer *from = i ? &pool : &out;

        buffer_reset(&in);
        if (job.rank == 0)
            succeeds(MPI_GPUSend(from->at, LARGEST, MPI_BYTE, 1, i, MPI_COMM_WORLD), "send");
        else
            succeeds(MPI_GPURecv(in.at, LARGEST, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     "receive");
        if (job.rank == 1)
            received(&in, LARGEST, i ? 2 : 1, "of a message");
        job_barrier();
    }
    job_result();
    buffer_clear(&out);
    buffer_clear(&pool);
    buffer_clear(&in);
}
