/* Groups: nonblocking calls between gpubind_group_on_stream and a quiet. Two ranks and two do the same,
 * or only one has a group.
 * What is sent is written in the stream, after a while, right before the send is called. */
#include <unistd.h>

#include "gpu/exchange/signal_kernel.h"
#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { LARGEST = 4 << 20, ROUNDS = 3, WINDOWS = 4 };

static struct CUstream_st *stream;
static int other, side; /* of a pair: the other rank; 0 or 1 */
static struct buffer from, to, made, delay;

static uint64_t seed_of(int rank, int round)
{
    return 100 * (uint64_t)round + (uint64_t)rank;
}

/* In the stream: work that takes its time, then from gets what made has. */
static void write_late(size_t nbytes)
{
    for (int i = 0; i < 4; i++)
        is_int(cuda.cuMemsetD8Async(address_of(&delay), (unsigned char)i, delay.nbytes, stream),
               CUDA_OK, "memset");
    is_int(cuda.cuMemcpyDtoDAsync_v2(address_of(&from), address_of(&made), nbytes, stream), CUDA_OK,
           "copy");
}

static void begin(int round, size_t nbytes, bool grouped)
{
    buffer_fill(&made, 0, nbytes, seed_of(job.rank, round));
    buffer_fill(&from, 0, nbytes, 9999);
    buffer_reset(&to);
    job_barrier();
    write_late(nbytes);
    if (grouped)
        succeeds(gpubind_group_on_stream(stream), "group");
}

static void send(int at, int nbytes, int tag)
{
    succeeds(
        gpubind_isend_on_stream(from.at + at, nbytes, MPI_BYTE, other, tag, MPI_COMM_WORLD, stream),
        "isend of %d bytes", nbytes);
}

static void receive(int at, int nbytes, int tag)
{
    succeeds(
        gpubind_irecv_on_stream(to.at + at, nbytes, MPI_BYTE, other, tag, MPI_COMM_WORLD, stream),
        "irecv of %d bytes", nbytes);
}

/* Overwrites what was sent right behind the quiet. */
static void end(int round, size_t nbytes)
{
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    cuda.cuMemsetD8Async(address_of(&from), 0xee, nbytes, stream);
    stream_ends(stream);
    expect(buffer_holds(&to, 0, nbytes, seed_of(other, round), NULL),
           "round %d: other bytes of %zu", round, nbytes);
}

/* one: a rank alone has a group, or (-1) both. */
static void exchange(int nbytes, bool send_first, int one)
{
    job_test("%d bytes each way, %s first, a group of %s", nbytes, send_first ? "send" : "receive",
             one < 0 ? "both" : "one");
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)nbytes, one < 0 || one == side);
        if (send_first)
            send(0, nbytes, 1);
        receive(0, nbytes, 1);
        if (!send_first)
            send(0, nbytes, 1);
        end(round, (size_t)nbytes);
    }
    job_result();
}

/* n messages each way are one launch on each side, whoever of them is first. */
static void launches(int n, int nbytes)
{
    int (*launched)(const char *);
    int before;

    *(void **)&launched = simulator_function("gpubind_sim_launches");
    job_test("%d messages of %d bytes each way, one launch", n, nbytes);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)n * (size_t)nbytes, true);
        usleep(round == 1 && side ? 20000 : 0);
        before = launched(SIGNAL_KERNEL_NAME);
        for (int i = 0; i < n; i++)
            receive(i * nbytes, nbytes, i);
        for (int i = 0; i < n; i++)
            send(i * nbytes, nbytes, i);
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        is_int(launched(SIGNAL_KERNEL_NAME) - before, 1, "launches");
        end(round, (size_t)n * (size_t)nbytes);
    }
    job_result();
}

static void many(int n, int nbytes, bool mixed)
{
    job_test("%d messages of %d bytes each way in a group%s", n, nbytes,
             mixed ? ", sends and receives in turns" : "");
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)n * (size_t)nbytes, true);
        for (int i = 0; i < n && mixed; i++) {
            send(i * nbytes, nbytes, i % 3);
            receive(i * nbytes, nbytes, i % 3);
        }
        for (int i = 0; i < n && !mixed; i++)
            send(i * nbytes, nbytes, 1);
        for (int i = 0; i < n && !mixed; i++)
            receive(i * nbytes, nbytes, 1);
        end(round, (size_t)n * (size_t)nbytes);
    }
    job_result();
}

/* Sends that cannot be held are among those that can. */
static void of_all_sizes(void)
{
    static const int sizes[] = {8, 3 << 20, 100, 20000, 300000, 8, 200000, 5};
    int at = 0;

    job_test("messages of all sizes in a group, some too large for it");
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, LARGEST, true);
        at = 0;
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; at += sizes[i], i++) {
            receive(at, sizes[i], (int)i);
            send(at, sizes[i], (int)i);
        }
        end(round, (size_t)at);
    }
    job_result();
}

/* Windows ahead, one after the other, from one rank to the other, each with a reply by blocking calls in the group. */
static void windows(int n, int nbytes)
{
    const int window = n * nbytes;
    const size_t all = (size_t)WINDOWS * (size_t)window;

    job_test("%d windows of %d messages of %d bytes, each with a reply, queued ahead", WINDOWS, n,
             nbytes);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, all, false);
        for (int w = 0; w < WINDOWS; w++) {
            succeeds(gpubind_group_on_stream(stream), "group");
            for (int i = 0; i < n; i++)
                (side ? receive : send)(w * window + i * nbytes, nbytes, 2);
            if (w % 2)
                succeeds(gpubind_quiet_on_stream(stream), "quiet");
            if (side)
                succeeds(gpubind_quiet_on_stream(stream), "quiet");
            succeeds((side ? gpubind_send_on_stream(delay.at, 1, MPI_BYTE, other, 3, MPI_COMM_WORLD,
                                                    stream)
                           : gpubind_recv_on_stream(delay.at, 1, MPI_BYTE, other, 3, MPI_COMM_WORLD,
                                                    stream)),
                     "reply");
        }
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        stream_ends(stream);
        expect(side == 0 || buffer_holds(&to, 0, all, seed_of(other, round), NULL),
               "round %d: other bytes", round);
    }
    job_result();
}

/* The other rank's calls know nothing of streams, or of groups. */
static void to_others(int nbytes, bool host)
{
    job_test("%d bytes of a group to %s", nbytes,
             host ? "a receive of the host" : "a blocking receive on a stream");
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)nbytes, true);
        if (round == 1 && side)
            usleep(20000);
        if (side == 0) {
            send(0, nbytes, 1);
            succeeds(gpubind_quiet_on_stream(stream), "quiet");
        } else if (host) {
            succeeds(
                MPI_GPURecv(to.at, nbytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                "MPI_GPURecv");
        } else {
            succeeds(
                gpubind_recv_on_stream(to.at, nbytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, stream),
                "recv_on_stream");
        }
        stream_ends(stream);
        expect(side == 0 || buffer_holds(&to, 0, (size_t)nbytes, seed_of(other, round), NULL),
               "round %d: other bytes", round);
    }
    job_result();
}

/* What this side sends has arrived before the other sends, by calls of the host. */
static void answered(int nbytes)
{
    job_test("%d bytes each way, one side's in a group, the other's by the host in turns", nbytes);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, (size_t)nbytes, side == 0);
        if (side == 0) {
            receive(0, nbytes, 1);
            send(0, nbytes, 1);
            end(round, (size_t)nbytes);
            continue;
        }
        succeeds(MPI_GPURecv(to.at, nbytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "MPI_GPURecv");
        expect(buffer_holds(&to, 0, (size_t)nbytes, seed_of(other, round), NULL),
               "round %d: other bytes", round);
        succeeds(MPI_GPUSend(made.at, nbytes, MPI_BYTE, other, 1, MPI_COMM_WORLD), "MPI_GPUSend");
        stream_ends(stream);
    }
    job_result();
}

/* A send of a group leaves before an exchange, and before a put, that come behind it: the other side's come behind its
 * receive. */
static void before_exchange(void)
{
    enum { BYTES = 100 };
    gpubind_request requests[2];

    job_test("a send of a group before an exchange of persistent messages");
    succeeds(gpubind_send_init(delay.at, BYTES, MPI_BYTE, other, 6, MPI_COMM_WORLD, &requests[0]),
             "send_init");
    succeeds(gpubind_recv_init(delay.at + BYTES, BYTES, MPI_BYTE, other, 6, MPI_COMM_WORLD,
                               &requests[1]),
             "recv_init");
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, BYTES, true);
        if (side == 0)
            send(0, BYTES, 1);
        else
            succeeds(
                gpubind_recv_on_stream(to.at, BYTES, MPI_BYTE, other, 1, MPI_COMM_WORLD, stream),
                "recv_on_stream");
        succeeds(gpubind_startall_on_stream(2, requests, stream), "startall");
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        stream_ends(stream);
        expect(side == 0 || buffer_holds(&to, 0, BYTES, seed_of(other, round), NULL),
               "round %d: other bytes", round);
    }
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "free");
    job_result();
}

static void before_signal(void)
{
    enum { BYTES = 100, SIGNALS = 8 };
    gpubind_win win;

    job_test("a send of a group before a wait for a signal");
    succeeds(gpubind_win_allocate(MPI_COMM_WORLD, BYTES, SIGNALS, &win), "win_allocate");
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, BYTES, true);
        if (side == 0) {
            send(0, BYTES, 1);
            succeeds(gpubind_wait_signal_on_stream(0, (unsigned long long)round + 1, win, stream),
                     "wait_signal");
        } else {
            succeeds(
                gpubind_recv_on_stream(to.at, BYTES, MPI_BYTE, other, 1, MPI_COMM_WORLD, stream),
                "recv_on_stream");
            succeeds(gpubind_signal_on_stream(0, (unsigned long long)round + 1, other, win, stream),
                     "signal");
        }
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        stream_ends(stream);
        expect(side == 0 || buffer_holds(&to, 0, BYTES, seed_of(other, round), NULL),
               "round %d: other bytes", round);
    }
    succeeds(gpubind_win_free(&win), "win_free");
    job_result();
}

/* Rank 1 receives from 0 and from 2 in one group. What 0 sends has to go on before 2 begins: 2 waits for a message that 0
 * sends behind its own quiet. */
static void chain(int n, int nbytes)
{
    const size_t all = (size_t)n * (size_t)nbytes;
    struct buffer *const parts[] = {&to, &delay};

    job_test("%d messages of %d bytes from two ranks in a group, one of which waits for the other",
             n, nbytes);
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, all, job.rank < 2);
        if (job.rank == 2)
            succeeds(gpubind_recv_on_stream(to.at, 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD, stream),
                     "recv_on_stream");
        if (job.rank == 1) {
            usleep(round == 1 ? 20000 : 0);
            for (int i = 0; i < 2 * n; i++)
                succeeds(gpubind_irecv_on_stream(parts[i / n]->at + i % n * nbytes, nbytes,
                                                 MPI_BYTE, i / n * 2, 4, MPI_COMM_WORLD, stream),
                         "irecv");
        } else if (job.rank < 3) {
            for (int i = 0; i < n; i++)
                succeeds(gpubind_isend_on_stream(from.at + i * nbytes, nbytes, MPI_BYTE, 1, 4,
                                                 MPI_COMM_WORLD, stream),
                         "isend");
        }
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        if (job.rank == 0)
            succeeds(gpubind_send_on_stream(made.at, 8, MPI_BYTE, 2, 3, MPI_COMM_WORLD, stream),
                     "send_on_stream");
        stream_ends(stream);
        for (int i = 0; i < 2 && job.rank == 1; i++)
            expect(buffer_holds(parts[i], 0, all, seed_of(2 * i, round), NULL),
                   "round %d: other bytes of rank %d", round, 2 * i);
    }
    job_result();
}

/* More of them than the library remembers of streams where nothing is going on. */
static void many_streams(void)
{
    enum { STREAMS = 70, BYTES = 8 };
    struct CUstream_st *streams[STREAMS], *const before = stream;

    job_test("groups of %d streams at once", STREAMS);
    begin(0, (size_t)STREAMS * BYTES, false);
    stream_ends(stream);
    for (int i = 0; i < STREAMS; i++) {
        if (cuda.cuStreamCreate(&streams[i], CUDA_STREAM_NON_BLOCKING))
            MPI_Abort(MPI_COMM_WORLD, 2);
        stream = streams[i];
        succeeds(gpubind_group_on_stream(stream), "group");
        send(i * BYTES, BYTES, i);
    }
    for (int i = 0; i < STREAMS; i++) {
        stream = streams[i];
        receive(i * BYTES, BYTES, i);
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        stream_ends(stream);
        cuda.cuStreamDestroy_v2(stream);
    }
    stream = before;
    end(0, (size_t)STREAMS * BYTES);
    job_result();
}

/* `ranks on_stream_group [launches]`: in the end a send that no quiet follows, which leaves with the library. launches:
 * on the simulated driver, whose kernels wait. */
void test_on_stream_group(void)
{
    static const int sizes[] = {8, 1984, 8192, 70000, 1 << 20, 3 << 20};

    other = job.rank ^ 1;
    side = job.rank % 2;
    if (cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING))
        MPI_Abort(MPI_COMM_WORLD, 2);
    need_buffer(&from, MEMORY_DEVICE, LARGEST);
    need_buffer(&to, MEMORY_DEVICE, LARGEST);
    need_buffer(&made, MEMORY_DEVICE, LARGEST);
    need_buffer(&delay, MEMORY_DEVICE, gpu_is_simulated() ? LARGEST : 32 << 20);
    if (nargs > 0) {
        launches(1, 8);
        launches(1, 8192);
        launches(20, 1000);
        launches(1, 70000);
        launches(1, 1 << 20);
        launches(3, 1 << 20);
        launches(20, 20000);
        launches(30, 65536);
        return;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        exchange(sizes[i], false, -1);
        exchange(sizes[i], true, -1);
        exchange(sizes[i], true, 0);
        answered(sizes[i]);
        to_others(sizes[i], false);
        to_others(sizes[i], true);
    }
    many(30, 8, false);
    many(100, 8, false);
    many(100, 20000, true);
    many(300, 1000, true);
    of_all_sizes();
    before_exchange();
    before_signal();
    many_streams();
    if (job.size > 2) {
        chain(3, 8);
        chain(4, 1 << 20);
        chain(20, 100000);
        chain(50, 20000);
    }
    windows(64, 8);
    windows(20, 40000);
    job_test("a group of nothing, twice, and one that no quiet follows");
    succeeds(gpubind_group_on_stream(stream), "group");
    succeeds(gpubind_group_on_stream(stream), "group");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    succeeds(gpubind_group_on_stream(stream), "group");
    if (side == 0)
        send(0, 100, 5);
    if (side == 1)
        receive(0, 100, 5);
    job_result();
}
