/* How jobs end, and what waits: a rank that dies, a receive that comes late, mappings
 * that are given back. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

/* `ranks die NBYTES`: the last rank is killed while the others send to it or receive
 * from it. Nobody may come to the end. */
void test_die(void)
{
    int nbytes = nargs ? atoi(arguments[0]) : 8, last = job.size - 1;
    struct buffer buffer;

    need_buffer(&buffer, MEMORY_DEVICE, (size_t)nbytes);
    for (int i = 0; i < 10; i++) /* all is in use */
        succeeds(gpubind_sendrecv(buffer.at, nbytes / 2, MPI_BYTE, (job.rank + 1) % job.size, 1,
                                  buffer.at + nbytes / 2, nbytes / 2, MPI_BYTE,
                                  (job.rank + last) % job.size, 1, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE),
                 "sendrecv");
    job_barrier();
    if (job.rank == last) {
        gpubind_request request;

        gpubind_isend(buffer.at, nbytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request);
        raise(SIGKILL);
    }
    for (;;) /* until the job ends */
        if (job.rank % 2)
            MPI_GPUSend(buffer.at, nbytes, MPI_BYTE, last, 3, MPI_COMM_WORLD);
        else
            MPI_GPURecv(buffer.at, nbytes, MPI_BYTE, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* `ranks late`: a message waits 15 s for its receive, which its sender says once. */
void test_late(void)
{
    struct buffer buffer;

    job_test("a receive that comes 15 s after its send");
    need_filled(&buffer, MEMORY_DEVICE, 300000, 5);
    job_barrier();
    if (job.rank == 1)
        succeeds(MPI_GPUSend(buffer.at, 300000, MPI_BYTE, 0, 5, MPI_COMM_WORLD), "send");
    if (job.rank == 0) {
        sleep(15);
        buffer_reset(&buffer);
        succeeds(MPI_GPURecv(buffer.at, 300000, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&buffer, 300000, 5, "receive");
    }
    buffer_clear(&buffer);
    job_result();
}

/* What the simulated driver says; -1 for a real one. */
static int open_mappings(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*count)(void) = NULL;

    if (driver)
        *(void **)&count = dlsym(driver, "gpubind_sim_open_mappings");
    return count ? count() : -1;
}

/* `ranks mappings MOST`: 40 allocations are sent from in turn, three times; the receiver
 * keeps MOST of them mapped, and none when all are released. */
void test_mappings(void)
{
    enum { N = 40, BYTES = 400000 };
    int most = nargs ? atoi(arguments[0]) : 4;
    struct buffer outs[N], in;

    job_test("%d allocations sent from in turn: at most %d mappings", N, most);
    if (open_mappings() < 0) {
        job_skip("not the simulated driver");
        return;
    }
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    for (int i = 0; i < N && job.rank == 1; i++)
        need_filled(&outs[i], MEMORY_DEVICE, BYTES, (uint64_t)i);
    for (int i = 0; i < 3 * N; i++) {
        if (job.rank == 1)
            succeeds(MPI_GPUSend(outs[i % N].at, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send");
        if (job.rank == 0) {
            buffer_reset(&in);
            succeeds(MPI_GPURecv(in.at, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     "receive");
            received(&in, BYTES, (uint64_t)(i % N), "receive");
            expect(open_mappings() <= most, "%d mappings are open", open_mappings());
        }
    }
    job_result();

    job_test("gpubind_release: no mapping is left when it returns");
    for (int i = 0; i < N && job.rank == 1; i++)
        succeeds(gpubind_release(outs[i].at + 1000), "release");
    if (job.rank == 1)
        succeeds(MPI_GPUSend(outs[0].at, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD), "the last send");
    if (job.rank == 0) { /* the peer is in the library meanwhile */
        succeeds(MPI_GPURecv(in.at, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "the last receive");
        is_int(open_mappings(), 0, "mappings that are left");
    }
    for (int i = 0; i < N && job.rank == 1; i++)
        buffer_clear(&outs[i]);
    buffer_clear(&in);
    job_result();
}

/* `ranks alone`: gpubind_release needs its peer to let go, while that peer is in
 * MPI_Barrier and not in the library. It may say so, after a while, but not hang, nor
 * return as if all were well. */
void test_alone(void)
{
    gpubind_request request = GPUBIND_REQUEST_NULL;
    struct buffer buffer;
    int status = MPI_SUCCESS;

    job_test("gpubind_release keeps its word or says why not: the peer is in MPI_Barrier");
    need_filled(&buffer, MEMORY_DEVICE, 400000, 3);
    if (job.rank == 1)
        succeeds(gpubind_isend(buffer.at, 400000, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request),
                 "isend");
    job_barrier();
    if (job.rank == 0) { /* comes second, so that it is the one that maps */
        buffer_reset(&buffer);
        succeeds(MPI_GPURecv(buffer.at, 400000, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&buffer, 400000, 3, "receive");
    }
    succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    if (job.rank == 1)
        status = gpubind_release(buffer.at);
    if (status != MPI_SUCCESS)
        expect(*gpubind_error_text() != '\0', "release fails without a text");
    MPI_Bcast(&status, 1, MPI_INT, 1, job.plain);
    if (job.rank == 0)
        expect(status != MPI_SUCCESS || open_mappings() <= 0, "released, but %d mappings are open",
               open_mappings());
    job_result();

    job_test("gpubind_release again, the peer in gpubind_progress");
    for (int i = 0; i < 100 && job.rank == 0; i++) {
        succeeds(gpubind_progress(), "progress");
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    if (job.rank == 1)
        succeeds(gpubind_release(buffer.at), "release");
    buffer_clear(&buffer);
    job_result();
}

/* `ranks unaided`: on the ipc path a receiver needs no help of the sender's, which is
 * in MPI_Barrier and not in the library. */
void test_unaided(void)
{
    gpubind_request request = GPUBIND_REQUEST_NULL;
    struct buffer buffer;

    job_test("a receive of 1 MiB ends while its sender is in MPI_Barrier");
    need_filled(&buffer, MEMORY_DEVICE, 1 << 20, 6);
    if (job.rank == 1)
        succeeds(gpubind_isend(buffer.at, 1 << 20, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request),
                 "isend");
    if (job.rank == 0) {
        buffer_reset(&buffer);
        succeeds(MPI_GPURecv(buffer.at, 1 << 20, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&buffer, 1 << 20, 6, "receive");
    }
    job_barrier();
    succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    buffer_clear(&buffer);
    job_result();
}

/* `ranks finalize`: gpubind_finalize while mappings and communicators are there; MPI goes
 * on, the library's calls say no, and MPI_Finalize comes after. */
void test_finalize(void)
{
    gpubind_request open = GPUBIND_REQUEST_NULL, done = GPUBIND_REQUEST_NULL;
    struct buffer buffer;
    MPI_Comm comm;
    int sum = 0, flag = 0, number = 0;

    job_test("gpubind_init again does nothing; messages");
    succeeds(gpubind_init(), "init");
    succeeds(gpubind_init(), "init");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    need_filled(&buffer, MEMORY_DEVICE, 1 << 20, 6);
    for (int i = 0; i < 4; i++) {
        if (job.rank == i % 2)
            succeeds(MPI_GPUSend(buffer.at, 1 << 20, MPI_BYTE, !job.rank, 1, comm), "send");
        else if (job.rank < 2)
            succeeds(
                MPI_GPURecv(buffer.at, 1 << 20, MPI_BYTE, !job.rank, 1, comm, MPI_STATUS_IGNORE),
                "receive");
    }
    received(&buffer, 1 << 20, 6, "receive");
    succeeds(gpubind_irecv(&number, 1, MPI_INT, job.rank, 2, comm, &open), "irecv");
    succeeds(gpubind_isend(&number, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &done), "isend");
    job_result();

    job_test("gpubind_finalize: no mapping is left, MPI goes on, our calls say no");
    succeeds(gpubind_finalize(), "finalize");
    expect(open_mappings() <= 0, "%d mappings are left", open_mappings());
    MPI_Allreduce(&job.rank, &sum, 1, MPI_INT, MPI_SUM, job.plain);
    is_int(sum, job.size * (job.size - 1) / 2, "MPI_Allreduce");
    expect(MPI_GPUSend(buffer.at, 8, MPI_BYTE, 0, 1, comm) != MPI_SUCCESS && *gpubind_error_text(),
           "a send after gpubind_finalize: '%s'", gpubind_error_text());
    succeeds(gpubind_finalize(), "finalize again");
    expect(gpubind_init() != MPI_SUCCESS && strstr(gpubind_error_text(), "has ended"),
           "gpubind_init after gpubind_finalize: '%s'", gpubind_error_text());
    job_result();

    job_test("requests that the application has not completed by then");
    succeeds(gpubind_request_get_status(open, &flag, MPI_STATUS_IGNORE), "get_status");
    expect(flag, "the receive is not complete");
    expect(gpubind_wait(&open, MPI_STATUS_IGNORE) != MPI_SUCCESS &&
               strstr(gpubind_error_text(), "has ended"),
           "the receive: '%s'", gpubind_error_text());
    gpubind_waitall(1, &done, MPI_STATUSES_IGNORE);
    expect(!open && !done, "requests are left");
    MPI_Comm_free(&comm);
    buffer_clear(&buffer);
    job_result();
}
