/* gpubind_sendrecv_on_stream. Any number of ranks, in a ring. What is sent is written in the stream, after a while,
 * right before the call, and overwritten behind it. */
#include <string.h>
#include <unistd.h>

#include "gpu/exchange/signal_kernel.h"
#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { LARGEST = 3 << 20, ROUNDS = 3, TAG = 1 };

static const int sizes[] = {8, 1984, 8192, 70000, 1 << 20, LARGEST};
static struct CUstream_st *stream;
static struct buffer from, to, made, delay;
static int next, before;

static uint64_t seed_of(int rank, int round)
{
    return 100 * (uint64_t)round + (uint64_t)rank;
}

/* In the stream: work that takes its time, then from gets what made has. */
static void write_late(size_t nbytes)
{
    buffer_fill(&from, 0, nbytes, 9999);
    buffer_reset(&to);
    job_barrier();
    for (int i = 0; i < 4; i++)
        is_int(cuda.cuMemsetD8Async(address_of(&delay), (unsigned char)i, delay.nbytes, stream),
               CUDA_OK, "memset");
    is_int(cuda.cuMemcpyDtoDAsync_v2(address_of(&from), address_of(&made), nbytes, stream), CUDA_OK,
           "copy");
}

static void begin(int round, size_t nbytes)
{
    buffer_fill(&made, 0, nbytes, seed_of(job.rank, round));
    write_late(nbytes);
}

/* source: MPI_PROC_NULL: nothing comes. */
static void end(int round, size_t nbytes, int source)
{
    cuda.cuMemsetD8Async(address_of(&from), 0xee, nbytes, stream);
    stream_ends(stream);
    if (source == MPI_PROC_NULL)
        expect(buffer_untouched(&to, 0), "round %d: something came", round);
    else
        expect(buffer_holds(&to, 0, nbytes, seed_of(source, round), NULL),
               "round %d: %zu other bytes came", round, nbytes);
}

static void pass(int at, int nbytes, int dest, int source, int tag)
{
    succeeds(gpubind_sendrecv_on_stream(from.at + at, nbytes, MPI_BYTE, dest, tag, to.at + at,
                                        nbytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, stream),
             "sendrecv of %d bytes", nbytes);
}

static void ring(int nbytes)
{
    job_test("%d bytes to the next rank", nbytes);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)nbytes);
        if (round == 1 && job.rank == 0)
            usleep(20000);
        pass(0, nbytes, next, before, TAG);
        end(round, (size_t)nbytes, before);
    }
    job_result();
}

/* A chain: the ends have one neighbour. */
static void chain(int nbytes)
{
    const int dest = job.rank + 1 < job.size ? next : MPI_PROC_NULL;
    const int source = job.rank > 0 ? before : MPI_PROC_NULL;

    job_test("%d bytes up a chain, whose ends are MPI_PROC_NULL", nbytes);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)nbytes);
        pass(0, nbytes, dest, source, TAG);
        end(round, (size_t)nbytes, source);
    }
    job_result();
}

/* One way round and the other, many ahead. */
static void ahead(int nbytes)
{
    enum { AHEAD = 20 };
    const size_t part = (size_t)nbytes;

    job_test("%d times %d bytes ahead, one way round and the other", AHEAD, nbytes);
    for (int i = 0; i < AHEAD; i++)
        buffer_fill(&made, (size_t)i * part, part, seed_of(job.rank, i));
    write_late(AHEAD * part);
    for (int i = 0; i < AHEAD; i++)
        pass(i * nbytes, nbytes, i % 2 ? next : before, i % 2 ? before : next, TAG);
    stream_ends(stream);
    for (int i = 0; i < AHEAD; i++)
        expect(buffer_holds(&to, (size_t)i * part, part, seed_of(i % 2 ? before : next, i), NULL),
               "message %d: other bytes came", i);
    job_result();
}

/* Nonblocking messages of before are sent behind it: it must not wait for them. */
static void beside_nonblocking(int nbytes, bool grouped)
{
    job_test("%d bytes, between nonblocking ones%s that wait for it", nbytes,
             grouped ? " of a group" : "");
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)nbytes);
        if (grouped)
            succeeds(gpubind_group_on_stream(stream), "group");
        succeeds(
            gpubind_irecv_on_stream(delay.at, nbytes, MPI_BYTE, before, 5, MPI_COMM_WORLD, stream),
            "irecv");
        succeeds(gpubind_isend_on_stream(made.at, 8, MPI_BYTE, next, 6, MPI_COMM_WORLD, stream),
                 "isend");
        pass(0, nbytes, next, before, TAG);
        stream_ends(stream);
        expect(buffer_holds(&to, 0, (size_t)nbytes, seed_of(before, round), NULL),
               "round %d: other bytes came", round);
        succeeds(
            gpubind_isend_on_stream(from.at, nbytes, MPI_BYTE, next, 5, MPI_COMM_WORLD, stream),
            "isend");
        succeeds(gpubind_irecv_on_stream(to.at, 8, MPI_BYTE, before, 6, MPI_COMM_WORLD, stream),
                 "irecv");
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        stream_ends(stream);
        expect(buffer_holds(&delay, 0, (size_t)nbytes, seed_of(before, round), NULL),
               "round %d: other bytes came by irecv", round);
    }
    job_result();
}

static void by_host(int nbytes)
{
    succeeds(gpubind_sendrecv(made.at, nbytes, MPI_BYTE, next, TAG, to.at, nbytes, MPI_BYTE, before,
                              TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "gpubind_sendrecv");
}

static void by_isend(int nbytes)
{
    succeeds(gpubind_isend_on_stream(from.at, nbytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD, stream),
             "isend");
    succeeds(gpubind_irecv_on_stream(to.at, nbytes, MPI_BYTE, before, TAG, MPI_COMM_WORLD, stream),
             "irecv");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
}

static void by_recv_first(int nbytes)
{
    succeeds(gpubind_recv_on_stream(to.at, nbytes, MPI_BYTE, before, TAG, MPI_COMM_WORLD, stream),
             "recv");
    succeeds(gpubind_send_on_stream(from.at, nbytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD, stream),
             "send");
}

/* Rank 0 makes another call. */
static void beside(int nbytes, void (*other)(int nbytes), const char *name)
{
    job_test("%d bytes, rank 0 by %s", nbytes, name);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)nbytes);
        if (round == 1 && job.rank == 0)
            usleep(20000);
        if (job.rank == 0)
            other(nbytes);
        else
            pass(0, nbytes, next, before, TAG);
        end(round, (size_t)nbytes, before);
    }
    job_result();
}

/* Two sizes, of which rank 0 sends the first. */
static void uneven(int even, int odd)
{
    const int mine = job.rank % 2 ? odd : even, its = before % 2 ? odd : even;

    job_test("%d and %d bytes, from any rank with any tag", even, odd);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)mine);
        succeeds(gpubind_sendrecv_on_stream(from.at, mine, MPI_BYTE, next, TAG, to.at, LARGEST,
                                            MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                                            stream),
                 "sendrecv");
        end(round, (size_t)its, before);
    }
    job_result();
}

/* Every other int is sent, from GPU memory; what comes is in the host's. */
static void strided_to_host(void)
{
    enum { N = 3000 };
    static int ints[2 * N], came[N];
    MPI_Datatype every_other;
    bool good = true;

    job_test("strided data, to host memory");
    MPI_Type_vector(N, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < 2 * N; i++)
        ints[i] = 10000 * job.rank + i;
    gpu_put(from.at, ints, sizeof ints);
    job_barrier();
    succeeds(gpubind_sendrecv_on_stream(from.at, 1, every_other, next, TAG, came, N, MPI_INT,
                                        before, TAG, MPI_COMM_WORLD, stream),
             "sendrecv");
    stream_ends(stream);
    for (int i = 0; i < N; i++)
        good &= came[i] == 10000 * before + 2 * i;
    expect(good, "other data came");
    MPI_Type_free(&every_other);
    job_result();
}

static void bad_arguments(void)
{
    job_test("bad arguments of either message: nothing is queued");
    fails(gpubind_sendrecv_on_stream(from.at, 8, MPI_BYTE, next, TAG, to.at, -1, MPI_BYTE, before,
                                     TAG, MPI_COMM_WORLD, stream),
          MPI_ERR_COUNT, "count is -1", "count");
    fails(gpubind_sendrecv_on_stream(from.at, 8, MPI_BYTE, job.size, TAG, to.at, 8, MPI_BYTE,
                                     before, TAG, MPI_COMM_WORLD, stream),
          MPI_ERR_RANK, "destination", "rank");
    begin(7, 8);
    pass(0, 8, next, before, TAG);
    end(7, 8, before);
    job_result();
}

static void truncation(void)
{
    job_test("a message that does not fit: the next call says so, what is sent arrives");
    begin(3, 3000);
    succeeds(gpubind_sendrecv_on_stream(from.at, 3000, MPI_BYTE, next, TAG, to.at,
                                        job.rank == 0 ? 100 : 3000, MPI_BYTE, before, TAG,
                                        MPI_COMM_WORLD, stream),
             "sendrecv");
    end(3, 3000, job.rank == 0 ? MPI_PROC_NULL : before);
    if (job.rank == 0)
        fails(gpubind_quiet_on_stream(stream), MPI_ERR_TRUNCATE, "earlier message", "quiet");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    job_result();
}

/* A graph of one that is captured between nonblocking ones, which a quiet behind puts in. One whose receive cannot be
 * captured is none for the other side of its send either. */
static void captured(int nbytes)
{
    const int little = nbytes < 100 ? nbytes : 100;
    struct CUgraphExec_st *exec = NULL;
    struct CUgraph_st *graph = NULL;

    job_test("%d bytes in a graph, between nonblocking ones that wait for it", nbytes);
    is_int(cuda.cuStreamBeginCapture_v2(stream, 0), CUDA_OK, "the capture's begin");
    cuda.cuMemcpyDtoDAsync_v2(address_of(&from), address_of(&made), (size_t)nbytes, stream);
    succeeds(gpubind_irecv_on_stream(delay.at, little, MPI_BYTE, before, 5, MPI_COMM_WORLD, stream),
             "irecv");
    fails(gpubind_sendrecv_on_stream(from.at, nbytes, MPI_BYTE, next, TAG, to.at, 0, MPI_BYTE,
                                     before, TAG, MPI_COMM_WORLD, stream),
          MPI_ERR_OTHER, "cannot be captured", "a receive of 0 bytes");
    pass(0, nbytes, next, before, TAG);
    succeeds(gpubind_isend_on_stream(from.at, little, MPI_BYTE, next, 5, MPI_COMM_WORLD, stream),
             "isend");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    is_int(cuda.cuStreamEndCapture(stream, &graph), CUDA_OK, "the capture's end");
    if (!graph || cuda.cuGraphInstantiateWithFlags(&exec, graph, 0))
        MPI_Abort(MPI_COMM_WORLD, 2);
    cuda.cuGraphDestroy(graph);
    for (int round = 0; round < ROUNDS; round++) {
        buffer_fill(&made, 0, (size_t)nbytes, seed_of(job.rank, round));
        buffer_reset(&to);
        is_int(cuda.cuGraphLaunch(exec, stream), CUDA_OK, "cuGraphLaunch");
        stream_ends(stream);
        expect(buffer_holds(&to, 0, (size_t)nbytes, seed_of(before, round), NULL) &&
                   buffer_holds(&delay, 0, (size_t)little, seed_of(before, round), NULL),
               "round %d: other bytes came", round);
    }
    is_int(cuda.cuGraphExecDestroy(exec), CUDA_OK, "cuGraphExecDestroy");
    job_result();
}

/* On the simulated driver, whose kernels wait. */
static void launches(int nbytes)
{
    int (*launched)(const char *), so_far;

    *(void **)&launched = simulator_function("gpubind_sim_launches");
    job_test("%d bytes to the next rank by one launch", nbytes);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)nbytes);
        so_far = launched(SIGNAL_KERNEL_NAME);
        pass(0, nbytes, next, before, TAG);
        if (round > 0) /* the receiver has told of its slots */
            is_int(launched(SIGNAL_KERNEL_NAME) - so_far, 1, "launches");
        end(round, (size_t)nbytes, before);
    }
    job_result();
}

/* ---- `failures`: launches of rank 0 fail */

static int errors; /* that calls returned */

/* What is said of a message before does not stop this one. */
static bool tries_to_pass(int nbytes, int tag)
{
    for (int i = 0; i < 5; i++) {
        if (gpubind_sendrecv_on_stream(from.at, nbytes, MPI_BYTE, next, tag, to.at, nbytes,
                                       MPI_BYTE, before, tag, MPI_COMM_WORLD,
                                       stream) == MPI_SUCCESS)
            return true;
        errors++;
        if (!strstr(gpubind_error_text(), "an earlier message"))
            return false;
    }
    return false;
}

static void failures(void)
{
    int all;

    job_test("launches fail: it is said, and all streams go on");
    for (int tag = 10; tag < 34; tag++) {
        tries_to_pass(tag % 2 ? 8 : tag % 4 ? 70000 : 1 << 20, tag);
        stream_ends(stream);
    }
    job_barrier();
    begin(1, 3000);
    expect(tries_to_pass(3000, TAG), "a call fails yet: %s", gpubind_error_text());
    end(1, 3000, before);
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, job.plain);
    expect(all > 0, "no call said that something failed");
    job_result();
}

static void make(void)
{
    next = (job.rank + 1) % job.size;
    before = (job.rank + job.size - 1) % job.size;
    if (cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING))
        MPI_Abort(MPI_COMM_WORLD, 2);
    need_buffer(&from, MEMORY_DEVICE, LARGEST);
    need_buffer(&to, MEMORY_DEVICE, LARGEST);
    need_buffer(&made, MEMORY_DEVICE, LARGEST);
    need_buffer(&delay, MEMORY_DEVICE, gpu_is_simulated() ? LARGEST : 32 << 20);
}

/* `ranks on_stream_sendrecv [captured | launches | failures]` */
void test_on_stream_sendrecv(void)
{
    const bool only_captured = nargs > 0 && strcmp(arguments[0], "captured") == 0;

    make();
    if (nargs > 0 && strcmp(arguments[0], "failures") == 0) {
        failures();
        return;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (only_captured)
            captured(sizes[i]);
        else if (nargs > 0 && sizes[i] <= 1 << 20)
            launches(sizes[i]);
        if (nargs > 0)
            continue;
        ring(sizes[i]);
        chain(sizes[i]);
        beside_nonblocking(sizes[i], false);
        beside_nonblocking(sizes[i], true);
        beside(sizes[i], by_host, "gpubind_sendrecv");
        beside(sizes[i], by_isend, "isend and irecv");
        if (job.size > 1)
            beside(sizes[i], by_recv_first, "recv, then send");
    }
    if (nargs > 0)
        return;
    ahead(8);
    ahead(30000);
    ahead(150000);
    uneven(8, 1 << 20);
    uneven(LARGEST, 100);
    strided_to_host();
    bad_arguments();
    truncation();
}
