/* Starts of persistent requests match as MPI's do: any message, in order, also with wildcards;
 * a start is local. Rank 0 sends to rank 1; further ranks look on. */
#include <malloc.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

static struct buffer out[3], in[3];
static int size;        /* bytes of a message */
static const char *way; /* of the data */

static void set_up(int i, int tag, gpubind_request *request)
{
    *request = GPUBIND_REQUEST_NULL;
    if (job.rank == 0)
        succeeds(gpubind_send_init(out[i].at, size, MPI_BYTE, 1, tag, MPI_COMM_WORLD, request),
                 "send_init");
    else if (job.rank == 1)
        succeeds(gpubind_recv_init(in[i].at, size, MPI_BYTE, 0, tag, MPI_COMM_WORLD, request),
                 "recv_init");
}

static void fill(uint64_t seed)
{
    for (int i = 0; i < 3; i++) {
        buffer_fill(&out[i], 0, (size_t)size, seed + (uint64_t)i);
        buffer_reset(&in[i]);
    }
}

static void came(int i, uint64_t seed, const char *what)
{
    received(&in[i], (size_t)size, seed, what);
}

static void wait_for(gpubind_request *request)
{
    succeeds(gpubind_wait(request, MPI_STATUS_IGNORE), "wait");
}

static void finish(gpubind_request *request)
{
    wait_for(request);
    succeeds(gpubind_request_free(request), "request_free");
}

static void start(gpubind_request *request)
{
    succeeds(gpubind_start(request), "start");
}

static void send_plain(int i)
{
    succeeds(MPI_GPUSend(out[i].at, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD), "send");
}

static void receive_plain(int i)
{
    MPI_Status status;

    succeeds(MPI_GPURecv(in[i].at, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status), "receive");
    status_is(&status, 0, 0, size, "a receive");
}

/* Twice, since a start may be the second. */
static void with_plain_ones(void)
{
    gpubind_request request;

    job_test("a persistent send to any receive, a persistent receive from any send (%d bytes, %s)",
             size, way);
    if (job.rank == 0)
        set_up(0, 0, &request);
    for (uint64_t round = 0; round < 2; round++) {
        fill(10 * round);
        if (job.rank == 0) {
            start(&request);
            wait_for(&request);
        } else if (job.rank == 1) {
            receive_plain(0);
            came(0, 10 * round, "a persistent send");
        }
    }
    if (job.rank == 0)
        finish(&request);
    if (job.rank == 1)
        set_up(1, 0, &request);
    for (uint64_t round = 0; round < 2; round++) {
        fill(20 * round);
        if (job.rank == 0) {
            send_plain(1);
        } else if (job.rank == 1) {
            start(&request);
            wait_for(&request);
            came(1, 20 * round + 1, "into a persistent receive");
        }
    }
    if (job.rank == 1)
        finish(&request);
    job_result();
}

static void in_order(bool persistent_first)
{
    gpubind_request request, other = GPUBIND_REQUEST_NULL;

    job_test("plain and persistent messages of a tag keep their order, %s first (%d bytes, %s)",
             persistent_first ? "persistent" : "plain", size, way);
    fill(30);
    if (job.rank < 2)
        set_up(persistent_first ? 0 : 1, 0, &request);
    if (job.rank == 0) {
        if (persistent_first)
            start(&request);
        succeeds(
            gpubind_isend(out[persistent_first].at, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &other),
            "isend");
        if (!persistent_first)
            start(&request);
        wait_for(&other);
        finish(&request);
    } else if (job.rank == 1 && persistent_first) { /* the receives the other way round */
        receive_plain(1);
        start(&request);
        finish(&request);
        came(1, 30, "the first");
        came(0, 31, "the second");
    } else if (job.rank == 1) {
        start(&request);
        receive_plain(2);
        finish(&request);
        came(1, 30, "the first");
        came(2, 31, "the second");
    }
    job_result();
}

static void seen_by_probes(void)
{
    gpubind_request request;
    struct gpubind_message message;
    void *taken = NULL;

    job_test("probes see messages of persistent sends, recv_alloc takes them (%d bytes, %s)", size,
             way);
    fill(40);
    if (job.rank < 2)
        set_up(0, 0, &request);
    if (job.rank == 0) {
        start(&request);
        wait_for(&request);
        start(&request);
        finish(&request);
    } else if (job.rank == 1) {
        succeeds(gpubind_probe(0, 0, MPI_COMM_WORLD, &message), "probe");
        is_int(message.nbytes, size, "bytes seen");
        if (gpu_count == 0) { /* there is nothing to allocate */
            receive_plain(1);
        } else {
            succeeds(gpubind_recv_alloc(&taken, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &message),
                     "recv_alloc");
            is_int(message.nbytes, size, "bytes taken");
            succeeds(gpubind_free(taken), "free");
        }
        start(&request);
        finish(&request);
        came(0, 40, "the second");
    }
    job_result();
}

static void wildcards(void)
{
    gpubind_request requests[2];
    MPI_Status status;

    job_test("persistent receives from any source and with any tag (%d bytes, %s)", size, way);
    if (job.rank < 2)
        set_up(0, 5, &requests[0]);
    if (job.rank == 1) {
        succeeds(gpubind_request_free(&requests[0]), "request_free");
        succeeds(gpubind_recv_init(in[0].at, size, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD,
                                   &requests[0]),
                 "recv_init");
        succeeds(gpubind_recv_init(in[1].at, size, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD,
                                   &requests[1]),
                 "recv_init");
    }
    for (uint64_t round = 0; round < 2; round++) {
        fill(50 + 10 * round);
        job_barrier();
        if (job.rank == 0) {
            start(&requests[0]);
            wait_for(&requests[0]);
            send_plain(1);
        } else if (job.rank == 1) {
            succeeds(gpubind_startall(2, requests), "startall");
            succeeds(gpubind_wait(&requests[0], &status), "wait");
            status_is(&status, 0, 5, size, "from any source");
            succeeds(gpubind_wait(&requests[1], &status), "wait");
            status_is(&status, 0, 0, size, "with any tag");
            came(0, 50 + 10 * round, "from any source");
            came(1, 51 + 10 * round, "with any tag");
        }
        job_barrier();
    }
    for (int i = 0; i < job.rank + 1 && job.rank < 2; i++)
        finish(&requests[i]);
    job_result();
}

/* Rank 1 sets up its side after a message that rank 0 sends after its start. */
static void a_start_is_local(void)
{
    gpubind_request request;
    int token = 0;

    job_test("a start does not wait for the other side (%d bytes, %s)", size, way);
    fill(70);
    if (job.rank == 0) {
        set_up(0, 0, &request);
        succeeds(gpubind_startall(1, &request), "startall");
        MPI_Send(&token, 1, MPI_INT, 1, 1, job.plain);
    } else if (job.rank == 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 1, job.plain, MPI_STATUS_IGNORE);
        set_up(0, 0, &request);
        start(&request);
    }
    if (job.rank < 2)
        finish(&request);
    if (job.rank == 1)
        came(0, 70, "received");
    job_result();
}

static void freed_while_active(void)
{
    gpubind_request request;
    MPI_Request all;

    job_test(
        "request_free of an active request returns, and the message goes its way (%d bytes, %s)",
        size, way);
    fill(80);
    if (job.rank == 1) {
        set_up(0, 0, &request);
        start(&request);
        succeeds(gpubind_request_free(&request), "request_free");
    }
    job_barrier();
    if (job.rank == 0) {
        set_up(0, 0, &request);
        start(&request);
        succeeds(gpubind_request_free(&request), "request_free");
        set_up(1, 0, &request);
        start(&request);
        finish(&request);
    } else if (job.rank == 1) {
        receive_plain(1); /* a later one: the first is there, or on its way */
        came(1, 81, "the second");
        for (int i = 0; i < 5000 && !buffer_holds(&in[0], 0, (size_t)size, 80, NULL); i++) {
            succeeds(gpubind_progress(), "progress");
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
        came(0, 80, "into the request that was freed");
    }
    for (int there = MPI_Ibarrier(job.plain, &all); !there;) { /* rank 1 may need rank 0 */
        succeeds(gpubind_progress(), "progress");
        MPI_Test(&all, &there, MPI_STATUS_IGNORE);
    }
    job_result();
}

static size_t heap(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

#define PARTS 6
#define LEAK 80 /* bytes of a message */

static void set_up_often(int n)
{
    gpubind_request request;
    size_t before = 0, least = SIZE_MAX; /* growth of the heap in a part but the first */

    job_test("%d persistent sends, each set up, started once and received plainly (%d bytes, %s)",
             n, size, way);
    for (int part = 0; part < PARTS; part++) {
        for (int i = 0; i < n / PARTS; i++) {
            if (i % 20 == 0) /* so many are under way at most */
                job_barrier();
            if (job.rank == 1) {
                receive_plain(0);
            } else if (job.rank == 0) {
                set_up(0, 0, &request);
                start(&request);
                finish(&request);
            }
        }
        if (part > 0 && heap() <= before)
            least = 0;
        else if (part > 0 && heap() - before < least)
            least = heap() - before;
        before = heap();
    }
    /* MPI takes memory now and then, when messages have piled up; what leaks grows in each part. */
    expect(job.rank > 1 || least < (size_t)(n / PARTS * LEAK), "%zu bytes more in each of %d parts",
           least, PARTS - 1);
    job_result();
}

static void all_of(enum memory from, enum memory to, int nbytes)
{
    size = nbytes;
    way = from == MEMORY_HOST ? to == MEMORY_HOST ? "host memory" : "host to GPU" : "GPU memory";
    for (int i = 0; i < 3; i++) {
        need_buffer(&out[i], from, (size_t)nbytes);
        need_buffer(&in[i], to, (size_t)nbytes);
    }
    with_plain_ones();
    in_order(true);
    in_order(false);
    seen_by_probes();
    wildcards();
    a_start_is_local();
    freed_while_active();
    set_up_often(1200); /* the engine keeps 512 for as long as it has no need of them */
    for (int i = 0; i < 3; i++) {
        buffer_clear(&out[i]);
        buffer_clear(&in[i]);
    }
}

void test_persistent_rules(void)
{
    all_of(MEMORY_HOST, MEMORY_HOST, 4);
    all_of(MEMORY_DEVICE, MEMORY_DEVICE, 4);
    all_of(MEMORY_DEVICE, MEMORY_DEVICE, 100000);
    all_of(MEMORY_HOST, MEMORY_DEVICE, 40000);
}
