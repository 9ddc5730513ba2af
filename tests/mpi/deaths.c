/* A rank is killed, and the others see it: calls that wait for it end with an error that names
 * it, and what has nothing to do with it goes on. MPI must be told to let the others live, and
 * does not work among them any more: each prints a line and ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST 3000000

static int victim; /* the last rank */

static void die(int unused)
{
    (void)unused;
    raise(SIGKILL);
}

static void die_after(int microseconds)
{
    const struct itimerval when = {.it_value = {microseconds / 1000000, microseconds % 1000000}};

    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &when, NULL);
}

/* The line of this rank: "rank R: WHAT: TEXT". */
static void tell(const char *what, int status)
{
    printf("rank %d: %s: %s\n", job.rank, what,
           status == MPI_SUCCESS ? "success" : gpubind_error_text());
}

/* ---- rank 0 alone has to do with the victim, which is gone before or soon */

static void by_name(void)
{
    struct gpubind_message message;
    void *allocated = NULL;
    char bytes[8];
    gpubind_request request;
    int flag = 0, status;

    tell("receive", MPI_GPURecv(bytes, 8, MPI_BYTE, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    tell("probe", gpubind_probe(victim, 0, MPI_COMM_WORLD, &message));
    tell("recv_alloc", gpubind_recv_alloc(&allocated, victim, 0, MPI_COMM_WORLD, &message));
    status = gpubind_irecv(bytes, 8, MPI_BYTE, victim, 0, MPI_COMM_WORLD, &request);
    while (status == MPI_SUCCESS && !flag)
        status = gpubind_test(&request, &flag, MPI_STATUS_IGNORE);
    tell("test", status);
}

static void sends(void)
{
    enum { N = 9000 };
    static gpubind_request requests[N];
    struct buffer large;

    need_buffer(&large, MEMORY_DEVICE, 300000);
    tell("send", MPI_GPUSend(large.at, 300000, MPI_BYTE, victim, 0, MPI_COMM_WORLD));
    tell("sendrecv", gpubind_sendrecv(large.at, 300000, MPI_BYTE, victim, 0, large.at, 8, MPI_BYTE,
                                      victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++)
        gpubind_isend(large.at, 20000, MPI_BYTE, victim, 0, MPI_COMM_WORLD, &requests[i]);
    tell("waitall", gpubind_waitall(N, requests, MPI_STATUSES_IGNORE));
}

/* Begun before the victim is killed. */
static void sends_before(void)
{
    enum { N = 9000 };
    static gpubind_request requests[N];
    struct buffer large;

    need_buffer(&large, MEMORY_DEVICE, 300000);
    if (job.rank == victim) {
        sleep(2);
        die(0);
    }
    if (job.rank > 0)
        return;
    for (int i = 0; i < N; i++)
        gpubind_isend(large.at, 20000, MPI_BYTE, victim, 0, MPI_COMM_WORLD, &requests[i]);
    tell("waitall", gpubind_waitall(N, requests, MPI_STATUSES_IGNORE));
}

static void any_source(void)
{
    struct gpubind_message message;
    MPI_Status status;
    char bytes[8];

    if (job.rank == 1) {
        sleep(4);
        MPI_GPUSend(bytes, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        sleep(1); /* not gone before that is received */
    }
    if (job.rank > 0)
        return;
    tell("receive", MPI_GPURecv(bytes, 8, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status));
    tell("probe", gpubind_probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &message));
    tell("receive", MPI_GPURecv(bytes, 8, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status));
}

static void sleep_long(void *unused)
{
    (void)unused;
    sleep(20);
}

/* Its receive is offered to rank 0, which has taken the offer and waits for earlier work of the
 * receiver's GPU, when it is killed. */
static void offer(void)
{
    struct CUstream_st *stream;
    struct buffer buffer;

    need_buffer(&buffer, MEMORY_DEVICE, 300000);
    job_barrier();
    if (job.rank == victim) {
        cuda.cuStreamCreate(&stream, 0);
        cuda.cuLaunchHostFunc(stream, sleep_long, NULL);
        die_after(4000000);
        MPI_GPURecv(buffer.at, 300000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (job.rank == 0) {
        sleep(2);
        tell("send", MPI_GPUSend(buffer.at, 300000, MPI_BYTE, victim, 0, MPI_COMM_WORLD));
    }
}

static int send_on_stream(void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                          gpubind_stream stream)
{
    return gpubind_send_on_stream(buf, count, type, dest, tag, comm, stream);
}

/* The victim is killed before its stream gets to messages that streams were to pass to each other. Rank 0 has
 * called receives before (small, large), of which the victim has matched two, and others after, and a send. */
static void streams(void)
{
    enum { SENT_LATE = 4, RECEIVED_LATE = 5, STREAMS = 7 };
    static const int sizes[STREAMS] = {8, 300000, 8, 300000, 300000, 8, 300000};
    struct CUstream_st *waiting[STREAMS], *held;
    struct buffer buffer;

    need_buffer(&buffer, MEMORY_DEVICE, 300000);
    cuda.cuStreamCreate(&held, CUDA_STREAM_NON_BLOCKING);
    for (int i = 0; i < STREAMS; i++)
        cuda.cuStreamCreate(&waiting[i], CUDA_STREAM_NON_BLOCKING);
    if (job.rank == victim) /* what takes place at a first call has to wait for no stream */
        send_on_stream(buffer.at, 8, MPI_BYTE, 0, 9, MPI_COMM_WORLD, held);
    if (job.rank == 0)
        gpubind_recv_on_stream(buffer.at, 8, MPI_BYTE, victim, 9, MPI_COMM_WORLD, held);
    cuda.cuStreamSynchronize(held);
    for (int i = 0; i < SENT_LATE && job.rank == 0; i++)
        gpubind_recv_on_stream(buffer.at, sizes[i], MPI_BYTE, victim, i, MPI_COMM_WORLD,
                               waiting[i]);
    job_barrier();
    if (job.rank == victim) {
        cuda.cuLaunchHostFunc(held, sleep_long, NULL);
        for (int i = 2; i < STREAMS; i++)
            (i == SENT_LATE ? gpubind_recv_on_stream : send_on_stream)(
                buffer.at, sizes[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, held);
    }
    job_barrier();
    if (job.rank == 0) {
        gpubind_send_on_stream(buffer.at, sizes[SENT_LATE], MPI_BYTE, victim, SENT_LATE,
                               MPI_COMM_WORLD, waiting[SENT_LATE]);
        for (int i = RECEIVED_LATE; i < STREAMS; i++)
            gpubind_recv_on_stream(buffer.at, sizes[i], MPI_BYTE, victim, i, MPI_COMM_WORLD,
                                   waiting[i]);
    }
    if (job.rank == victim) {
        sleep(1);
        die(0);
    }
    for (int i = 0; i < STREAMS && job.rank == 0; i++) {
        char what[16];

        cuda.cuStreamSynchronize(waiting[i]);
        snprintf(what, sizeof what, "stream %d", i);
        tell(what, gpubind_quiet_on_stream(waiting[i]));
    }
}

/* A graph whose message comes from the victim: launches after its end fail, since they would read what never came. */
static void graph(void)
{
    struct CUgraph_st *captured = NULL;
    struct CUgraphExec_st *exec = NULL;
    struct CUstream_st *stream;
    struct buffer buffer;

    need_buffer(&buffer, MEMORY_DEVICE, 300000);
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    cuda.cuStreamBeginCapture_v2(stream, CUDA_CAPTURE_RELAXED);
    if (job.rank == victim)
        send_on_stream(buffer.at, 300000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, stream);
    if (job.rank == 0)
        gpubind_recv_on_stream(buffer.at, 300000, MPI_BYTE, victim, 0, MPI_COMM_WORLD, stream);
    cuda.cuStreamEndCapture(stream, &captured);
    cuda.cuGraphInstantiateWithFlags(&exec, captured, 0);
    for (int i = 0; i < 2; i++) {
        if (job.rank == victim && i == 1)
            die(0);
        cuda.cuGraphLaunch(exec, stream);
        printf("rank %d: launch %d: CUDA error %d\n", job.rank, i,
               cuda.cuStreamSynchronize(stream));
    }
}

/* In the middle of a send to rank 0: of what it sends nothing may be read. */
static void in_a_send(void)
{
    char bytes[8] = "";
    gpubind_request request;
    int status = MPI_SUCCESS;

    if (job.rank == victim) {
        char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        signal(SIGSEGV, die);
        gpubind_isend(nothing, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        die(0);
    }
    sleep(1);
    for (int i = 0; i < 1000 && job.rank < 2 && status == MPI_SUCCESS; i++)
        status = gpubind_sendrecv(&i, 4, MPI_BYTE, !job.rank, 1, bytes, 8, MPI_BYTE, !job.rank, 1,
                                  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (job.rank < 2)
        tell("exchanges of the others", status);
    sleep(1);
}

/* A message that MPI has announced, and that can no longer be fetched. */
static void data_gone(void)
{
    char bytes[5000] = "";
    int status = MPI_SUCCESS;
    gpubind_request request;

    if (job.rank == victim) {
        gpubind_isend(bytes, sizeof bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        die(0);
    }
    sleep(1);
    for (int i = 0; i < 1000 && status == MPI_SUCCESS; i++)
        status = gpubind_sendrecv(&i, 4, MPI_BYTE, !job.rank, 1, bytes, 8, MPI_BYTE, !job.rank, 1,
                                  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell("exchanges of the others", status);
    if (job.rank == 0)
        tell("receive", MPI_GPURecv(bytes, sizeof bytes, MPI_BYTE, victim, 0, MPI_COMM_WORLD,
                                    MPI_STATUS_IGNORE));
    sleep(1);
}

static void finalize(void)
{
    tell("finalize", gpubind_finalize());
}

/* Those who live talk to each other. */
static void meet_again(void)
{
    char byte = 0;

    for (int rank = 1; rank < victim; rank++)
        if (job.rank == 0)
            tell("a send to another", MPI_GPUSend(&byte, 1, MPI_BYTE, rank, 9, MPI_COMM_WORLD));
        else if (job.rank == rank)
            MPI_GPURecv(&byte, 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- all exchange until the victim is killed somewhere */

/* Random, and the same on all ranks: everybody sends to the next or the one after, in one of
 * several ways. */
static int exchange(int tag, uint64_t *state, const struct buffer *outs, const struct buffer *ins)
{
    static const int sizes[] = {8, 0, 5000, 300000, 70000, LARGEST, 16384, 100};
    const int nbytes = sizes[random_next(state) % 8], step = 1 + (int)random_next(state) % 2;
    const int to = (job.rank + step) % job.size, from = (job.rank + job.size - step) % job.size;
    const unsigned way = random_next(state) % 4, kind = random_next(state) % 2;
    char *out = outs[kind].at, *in = ins[kind].at;
    gpubind_request requests[2];
    int status;

    if (way == 0)
        return gpubind_sendrecv(out, nbytes, MPI_BYTE, to, tag, in, nbytes, MPI_BYTE, from, tag,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    status = gpubind_irecv(in, nbytes, MPI_BYTE, way == 1 ? MPI_ANY_SOURCE : from, tag,
                           MPI_COMM_WORLD, &requests[0]);
    if (status != MPI_SUCCESS)
        return status;
    if (way < 3) {
        status = MPI_GPUSend(out, nbytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        return status != MPI_SUCCESS ? status : gpubind_wait(&requests[0], MPI_STATUS_IGNORE);
    }
    status = gpubind_isend(out, nbytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[1]);
    return status != MPI_SUCCESS ? status : gpubind_waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void campaign(void)
{
    uint64_t state = nargs > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    struct buffer outs[2], ins[2];
    int status = MPI_SUCCESS;

    for (int i = 0; i < 2; i++) {
        need_buffer(&outs[i], i ? MEMORY_DEVICE : MEMORY_HOST, LARGEST);
        need_buffer(&ins[i], i ? MEMORY_DEVICE : MEMORY_HOST, LARGEST);
    }
    job_barrier();
    if (job.rank == victim)
        die_after(1000 + (int)(state * 7919 % 200) * 1000);
    for (int i = 0; status == MPI_SUCCESS; i++)
        status = exchange(i % 1000, &state, outs, ins);
    tell("exchange", status);
}

/* `ranks deaths WHAT [SEED]` */
void test_deaths(void)
{
    static const struct {
        const char *name;
        void (*survive)(void);
        bool before; /* it is killed before that, and rank 0 alone goes on */
    } cases[] = {{"by_name", by_name, true},
                 {"sends", sends, true},
                 {"sends_before", sends_before, false},
                 {"any", any_source, false},
                 {"offer", offer, false},
                 {"streams", streams, false},
                 {"graph", graph, false},
                 {"in_a_send", in_a_send, false},
                 {"data_gone", data_gone, false},
                 {"finalize", finalize, false},
                 {"campaign", campaign, false}};
    const char *what = nargs ? arguments[0] : "by_name";

    victim = job.size - 1;
    job_barrier();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, what) != 0)
            continue;
        if (job.rank == victim &&
            (cases[i].before || cases[i].survive == any_source || cases[i].survive == finalize))
            die(0);
        if (!cases[i].before || job.rank == 0)
            cases[i].survive();
        if (cases[i].before)
            meet_again();
    }
    fflush(stdout);
    _exit(0);
}
