/* The application sits in a call of the driver that waits for a stream, which waits for the
 * library: `ranks in_driver STREAM WHAT`. The first round is the process' first use of
 * the library on a stream. For pairs of ranks. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define NBYTES 70001
#define ROUNDS 3

static struct CUstream_st *stream;
static struct buffer out, in;
static int peer;
static gpubind_request pair[2];
static gpubind_win win;
static MPI_Datatype every_second; /* byte of 2 * NBYTES */

static uint64_t seed_of(int rank, int round)
{
    return 900 + 10 * (uint64_t)round + (uint64_t)rank;
}

/* ---- what the stream waits for: fills in with what the peer has in out */

static void pass_messages(void)
{
    succeeds(gpubind_irecv_on_stream(in.at, NBYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, stream),
             "irecv");
    succeeds(gpubind_isend_on_stream(out.at, NBYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, stream),
             "isend");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
}

/* By then each side has told the other where data that come before their receives may lie on its GPU. */
static void pass_sends_first(void)
{
    succeeds(gpubind_isend_on_stream(out.at, NBYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, stream),
             "isend");
    PMPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 0, NULL, 0, MPI_BYTE, peer, 0, job.plain,
                  MPI_STATUS_IGNORE);
    succeeds(gpubind_recv_on_stream(in.at, NBYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, stream),
             "recv");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
}

static void pass_strided(void)
{
    succeeds(gpubind_irecv_on_stream(in.at, 1, every_second, peer, 1, MPI_COMM_WORLD, stream),
             "irecv of strided data");
    succeeds(gpubind_isend_on_stream(out.at, 1, every_second, peer, 1, MPI_COMM_WORLD, stream),
             "isend of strided data");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
}

static void make_persistent(void)
{
    succeeds(gpubind_recv_init(in.at, NBYTES, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &pair[0]), "init");
    succeeds(gpubind_send_init(out.at, NBYTES, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &pair[1]),
             "init");
}

static void pass_persistent(void)
{
    succeeds(gpubind_startall_on_stream(2, pair, stream), "startall");
}

static void free_persistent(void)
{
    succeeds(gpubind_request_free(&pair[0]), "free");
    succeeds(gpubind_request_free(&pair[1]), "free");
}

static void make_window(void)
{
    succeeds(gpubind_win_allocate(MPI_COMM_WORLD, NBYTES, 1, &win), "win_allocate");
}

static void pass_window(void)
{
    static unsigned long long turn;

    turn++;
    succeeds(gpubind_put_signal_on_stream(out.at, NBYTES, 0, turn, peer, 0, win, stream), "put");
    succeeds(gpubind_wait_signal_on_stream(0, turn, win, stream), "wait");
    succeeds(gpubind_get_on_stream(in.at, NBYTES, job.rank, 0, win, stream), "get of my own");
}

static void free_window(void)
{
    succeeds(gpubind_win_free(&win), "win_free");
}

static const struct {
    const char *name;
    void (*make)(void), (*pass)(void), (*end)(void);
} things[] = {
    {"messages", NULL, pass_messages, NULL},
    {"sends-first", pass_messages, pass_sends_first, NULL},
    {"strided", NULL, pass_strided, NULL},
    {"persistent", make_persistent, pass_persistent, free_persistent},
    {"window", make_window, pass_window, free_window},
};

/* ---- where the application waits */

static void wait_in_copy(void)
{
    char bytes[64]; /* pageable */

    cuda.cuMemcpyDtoH_v2(bytes, (cuda_address)(uintptr_t)in.at, sizeof bytes);
}

static void wait_in_free(void)
{
    cuda_address memory = 0;

    cuda.cuMemAlloc_v2(&memory, 4096);
    cuda.cuMemFree_v2(memory);
}

static void wait_in_synchronize(void)
{
    cuda.cuStreamSynchronize(stream);
}

static const struct {
    const char *name;
    void (*wait)(void);
} places[] = {
    {"a synchronous copy", wait_in_copy},
    {"cuMemFree", wait_in_free},
    {"cuStreamSynchronize", wait_in_synchronize},
};

static void round_of(size_t thing, size_t place, int round)
{
    buffer_fill(&out, 0, out.nbytes, seed_of(job.rank, round));
    buffer_reset(&in);
    job_barrier();
    things[thing].pass();
    places[place].wait();
    cuda.cuStreamSynchronize(stream);
}

/* What the peer sent. */
static void check(size_t thing, int round)
{
    const int step = strcmp(things[thing].name, "strided") == 0 ? 2 : 1;
    char *sent = malloc(out.nbytes), *got = malloc(in.nbytes);
    int wrong = 0;

    if (!sent || !got)
        abort();
    bytes_of_seed(sent, out.nbytes, seed_of(peer, round));
    gpu_get(got, in.at, in.nbytes);
    for (int i = 0; i < NBYTES; i++)
        wrong += got[step * i] != sent[step * i];
    expect(wrong == 0, "round %d: %d bytes are wrong", round, wrong);
    free(sent);
    free(got);
}

static struct CUstream_st *stream_of(const char *name)
{
    struct CUstream_st *made = NULL;

    if (strcmp(name, "legacy") == 0)
        return CUDA_LEGACY_STREAM;
    if (strcmp(name, "per-thread") == 0)
        return (struct CUstream_st *)2;
    cuda.cuStreamCreate(&made, strcmp(name, "blocking") ? CUDA_STREAM_NON_BLOCKING : 0);
    return made;
}

void test_in_driver(void)
{
    size_t thing = 0;

    if (nargs < 2)
        abort();
    while (thing < sizeof things / sizeof things[0] - 1 && strcmp(things[thing].name, arguments[1]))
        thing++;
    peer = job.rank ^ 1;
    need_buffer(&out, MEMORY_DEVICE, (size_t)2 * NBYTES);
    need_buffer(&in, MEMORY_DEVICE, (size_t)2 * NBYTES);
    MPI_Type_vector(NBYTES, 1, 2, MPI_BYTE, &every_second);
    MPI_Type_commit(&every_second);
    stream = stream_of(arguments[0]);
    if (things[thing].make)
        things[thing].make();
    for (size_t place = 0; place < sizeof places / sizeof places[0]; place++) {
        job_test("%s in a %s stream, the application waits in %s", things[thing].name, arguments[0],
                 places[place].name);
        for (int round = 0; round < ROUNDS; round++) {
            round_of(thing, place, round);
            check(thing, round);
        }
        job_result();
    }
    job_barrier();
    if (things[thing].end)
        things[thing].end();
    MPI_Type_free(&every_second);
    buffer_clear(&out);
    buffer_clear(&in);
}
