/* Messages that need all of the library's shared memory, where there is little of it: small
 * ones by the slots, large ones by lanes, and many that wait at a time. For four ranks and
 * more. An argument: a file that takes all that is left of its file system, once the library
 * has started. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define SMALL 4000
#define LARGE 3000000
#define MANY 900 /* more than have a slot */
#define TIMES 3

static int filler = -1;

static void fill_up(const char *path)
{
    static char bytes[4096];

    filler = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    unlink(path);
    for (off_t at = 0; filler >= 0 && pwrite(filler, bytes, sizeof bytes, at) > 0;)
        at += (off_t)sizeof bytes;
    expect(filler >= 0 && errno == ENOSPC, "%s cannot be filled", path);
}

static void ring(struct buffer *out, struct buffer *in, size_t nbytes)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;

    buffer_fill(out, 0, nbytes, (uint64_t)job.rank);
    buffer_reset(in);
    succeeds(gpubind_sendrecv(out->at, (int)nbytes, MPI_BYTE, next, 0, in->at, (int)nbytes,
                              MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "sendrecv of %zu bytes", nbytes);
    received(in, nbytes, (uint64_t)last, "from the last rank");
}

/* Sends that have to wait, since the receiver comes when all have started. */
static void many(struct buffer *out, struct buffer *in)
{
    gpubind_request *requests = calloc(MANY, sizeof(gpubind_request));

    buffer_fill(out, 0, SMALL, 77);
    buffer_reset(in);
    for (int i = 0; job.rank == 0 && i < MANY; i++)
        succeeds(gpubind_isend(out->at, SMALL, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]),
                 "isend %d", i);
    job_barrier();
    for (int i = 0; job.rank == 1 && i < MANY; i++)
        succeeds(MPI_GPURecv(in->at, SMALL, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive %d", i);
    if (job.rank == 0)
        succeeds(gpubind_waitall(MANY, requests, MPI_STATUSES_IGNORE), "waitall");
    if (job.rank == 1)
        received(in, SMALL, 77, "the last of many");
    free(requests);
}

static void move(enum memory kind)
{
    struct buffer out, in;

    need_buffer(&out, kind, LARGE);
    need_buffer(&in, kind, LARGE);
    job_test("%s: rings of %d and of %d bytes", memory_name(kind), SMALL, LARGE);
    for (int i = 0; i < TIMES; i++) {
        ring(&out, &in, SMALL);
        ring(&out, &in, LARGE);
    }
    job_result();
    job_test("%s: %d messages wait at a time", memory_name(kind), MANY);
    many(&out, &in);
    job_result();
    gpubind_release(out.at);
    gpubind_release(in.at);
    buffer_clear(&out);
    buffer_clear(&in);
}

void test_room(void)
{
    if (nargs > 0) {
        job_test("the file system is full");
        if (job.rank == 0)
            fill_up(arguments[0]);
        job_result();
    }
    move(MEMORY_DEVICE);
    move(MEMORY_HOST);
    if (filler >= 0)
        close(filler);
}
