/* The memory of windows: `ranks windows_memory WAY`, WAY how ranks show it to each other,
 * cumem or ipc, and `leaks` behind it where calls that give things back fail. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

enum { BYTES = 1 << 20, PIECE = 5000 };

static bool by_descriptors;
static int next, before;

/* Ranks without a GPU take part with nothing. */
static size_t bytes_of_mine(void)
{
    return gpu_count ? BYTES + (size_t)job.rank : 0;
}

static gpubind_win make(MPI_Comm comm)
{
    gpubind_win win = GPUBIND_WIN_NULL;

    succeeds(gpubind_win_allocate(comm, bytes_of_mine(), gpu_count ? 2 : 0, &win), "win_allocate");
    if (win == GPUBIND_WIN_NULL)
        abort();
    return win;
}

static char *pointer_to(gpubind_win win, int rank)
{
    void *at = NULL;

    succeeds(gpubind_win_pointer(win, rank, &at, NULL), "win_pointer");
    return at;
}

static void discard(gpubind_win *win)
{
    succeeds(gpubind_win_free(win), "win_free");
}

/* ---- what a process has */

struct state {
    int descriptors, mappings;
    size_t free_bytes;
};

static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* Memory is freed in streams, after what they have; steps of progress give it back. */
static void await_frees(size_t wanted)
{
    size_t free_bytes = 0, all;

    for (int i = 0; i < 2000 && gpu_count && free_bytes < wanted; i++) {
        int there;

        gpubind_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &there, NULL);
        cuda.cuMemGetInfo_v2(&free_bytes, &all);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

static struct state state_of(void)
{
    struct state state = {descriptors(), 0, 0};
    int (*mappings)(void);
    size_t all;

    *(void **)&mappings = simulator_function("gpubind_sim_open_mappings");
    state.mappings = mappings ? mappings() : 0;
    if (gpu_count && gpu_is_simulated()) /* else others use the device, too */
        cuda.cuMemGetInfo_v2(&state.free_bytes, &all);
    return state;
}

static void left_behind(void)
{
    struct state old, new;
    gpubind_win win;

    job_test("windows leave no descriptor, mapping or memory behind");
    if (!gpu_is_simulated()) { /* what a driver makes once is there */
        win = make(MPI_COMM_WORLD);
        discard(&win);
    }
    job_barrier();
    old = state_of();
    job_barrier();
    for (int i = 0; i < 5; i++) {
        win = make(MPI_COMM_WORLD);
        is_int(descriptors(), old.descriptors, "descriptors beside a window");
        job_barrier();
        discard(&win);
    }
    job_barrier();
    if (gpu_is_simulated())
        await_frees(old.free_bytes);
    new = state_of();
    job_barrier();
    is_int(new.descriptors, old.descriptors, "descriptors");
    is_int(new.mappings, old.mappings, "mappings");
    is_int((long long)new.free_bytes, (long long)old.free_bytes, "free bytes");
    job_result();
}

/* ---- what it is */

static void kind(void)
{
    static int attribute[] = {CUDA_POINTER_IPC_CAPABLE};
    gpubind_win win = make(MPI_COMM_WORLD);
    char *mine = pointer_to(win, job.rank);
    unsigned capable = 0;
    void *values[] = {&capable};
    struct buffer out;

    job_test("memory of the kind that was asked for, and all ranks write to all");
    need_filled(&out, MEMORY_DEVICE, PIECE, 7 + (uint64_t)job.rank);
    if (mine) {
        cuda.cuPointerGetAttributes(1, attribute, values, (cuda_address)(uintptr_t)mine);
        is_int(capable & 0xff, !by_descriptors, "IPC handles are possible");
        expect((uintptr_t)mine % 256 == 0, "it lies at %p", (void *)mine);
    }
    for (int rank = 0; rank < job.size && gpu_count; rank++) {
        size_t nbytes = 0;

        gpubind_win_pointer(win, rank, NULL, &nbytes);
        expect(!pointer_to(win, rank) == !nbytes, "rank %d is out of reach", rank);
        if (nbytes > 0)
            succeeds(gpubind_put_on_stream(out.at, PIECE, rank, (size_t)job.rank * PIECE, win,
                                           CUDA_LEGACY_STREAM),
                     "put");
    }
    if (gpu_count)
        cuda.cuStreamSynchronize(CUDA_LEGACY_STREAM);
    job_barrier();
    for (int rank = 0; rank < job.size && mine; rank++) {
        const struct buffer part = {mine, BYTES, MEMORY_DEVICE};
        size_t nbytes = 0;

        gpubind_win_pointer(win, rank, NULL, &nbytes);
        expect(nbytes == 0 ||
                   buffer_holds(&part, (size_t)rank * PIECE, PIECE, 7 + (uint64_t)rank, NULL),
               "what rank %d wrote differs", rank);
    }
    job_barrier();
    discard(&win);
    buffer_clear(&out);
    job_result();
}

/* ---- messages */

/* Calls of the driver that copy, of all ranks. */
static int copies(void)
{
    static const char *const names[] = {"cuMemcpyAsync",         "cuMemcpyDtoDAsync_v2",
                                        "cuMemcpyDtoHAsync_v2",  "cuMemcpyHtoDAsync_v2",
                                        "cuMemcpyBatchAsync_v2", "cuLaunchKernel"};
    int (*calls)(const char *), n = 0, all = 0;

    *(void **)&calls = simulator_function("gpubind_sim_calls");
    for (size_t i = 0; calls && i < sizeof names / sizeof names[0]; i++)
        n += calls(names[i]);
    MPI_Allreduce(&n, &all, 1, MPI_INT, MPI_SUM, job.plain);
    return all;
}

/* Copies that it takes to pass on the buffers of all ranks round a ring. */
static int pass_on(const void *from, void *to)
{
    const int first = copies();

    succeeds(gpubind_sendrecv(from, BYTES, MPI_BYTE, next, 3, to, BYTES, MPI_BYTE, before, 3,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "sendrecv");
    return copies() - first;
}

static void must_hold(char *at, int rank)
{
    expect(buffer_holds(&(struct buffer){at, BYTES, MEMORY_DEVICE}, 0, BYTES, 50 + (uint64_t)rank,
                        NULL),
           "what rank %d sent differs", rank);
}

/* As straight as those of other memory. */
static void messages(void)
{
    gpubind_win from = make(MPI_COMM_WORLD), to = make(MPI_COMM_WORLD);
    struct buffer out, in;
    int plain;

    job_test("messages from and to windows take as many copies as others");
    need_filled(&out, MEMORY_DEVICE, BYTES, 50 + (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    buffer_fill(&(struct buffer){pointer_to(from, job.rank), BYTES, MEMORY_DEVICE}, 0, BYTES,
                50 + (uint64_t)job.rank);
    pass_on(out.at, in.at);
    plain = pass_on(out.at, in.at);
    is_int(pass_on(pointer_to(from, job.rank), in.at), plain, "copies from a window");
    must_hold(in.at, before);
    is_int(pass_on(out.at, pointer_to(to, job.rank)), plain, "copies to a window");
    must_hold(pointer_to(to, job.rank), before);
    is_int(pass_on(pointer_to(from, job.rank), pointer_to(to, job.rank)), plain,
           "copies between windows");
    must_hold(pointer_to(to, job.rank), before);
    if (job.size > 1) /* another's memory: the simulated ranks' next is not their own */
        pass_on(pointer_to(from, next), in.at);
    if (job.size > 1)
        must_hold(in.at, (before + 1) % job.size);
    job_barrier();
    discard(&from);
    discard(&to);
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

/* The same on requests that are linked, where that is possible. */
static void persistent(void)
{
    gpubind_win win = make(MPI_COMM_WORLD);
    char *mine = pointer_to(win, job.rank);
    gpubind_request requests[2];

    job_test("persistent messages between windows");
    buffer_fill(&(struct buffer){mine, BYTES, MEMORY_DEVICE}, 0, PIECE, 60 + (uint64_t)job.rank);
    succeeds(gpubind_send_init(mine, PIECE, MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[0]),
             "send_init");
    succeeds(
        gpubind_recv_init(mine + PIECE, PIECE, MPI_BYTE, before, 5, MPI_COMM_WORLD, &requests[1]),
        "recv_init");
    for (int turn = 0; turn < 3; turn++) {
        succeeds(gpubind_startall(2, requests), "startall");
        succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    }
    expect(buffer_holds(&(struct buffer){mine, BYTES, MEMORY_DEVICE}, PIECE, PIECE,
                        60 + (uint64_t)before, NULL),
           "what came differs");
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "request_free");
    job_barrier();
    discard(&win);
    job_result();
}

/* Ranks that have not mapped the memory get messages from it all the same, and messages of
 * other memory go their way as before. */
static void outside(void)
{
    MPI_Comm alone;
    gpubind_win win;
    char *mine;
    struct buffer out, in;
    int plain;

    job_test("messages from a window to ranks that do not share it");
    MPI_Comm_split(MPI_COMM_WORLD, job.rank / 2, 0, &alone); /* pairs: 0-1, 2-3 */
    win = make(alone);
    mine = pointer_to(win, job.rank % 2);
    need_filled(&out, MEMORY_DEVICE, BYTES, 50 + (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    plain = pass_on(out.at, in.at);
    buffer_fill(&(struct buffer){mine, BYTES, MEMORY_DEVICE}, 0, BYTES, 50 + (uint64_t)job.rank);
    pass_on(mine, in.at);
    must_hold(in.at, before);
    pass_on(out.at, mine);
    must_hold(mine, before);
    is_int(pass_on(out.at, in.at), plain, "copies of other memory");
    job_barrier();
    discard(&win);
    MPI_Comm_free(&alone);
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

void test_windows_memory(void)
{
    int all_have = gpu_count > 0, mine = gpu_count > 0;

    by_descriptors = nargs > 0 && strcmp(arguments[0], "cumem") == 0;
    next = (job.rank + 1) % job.size;
    before = (job.rank + job.size - 1) % job.size;
    MPI_Allreduce(&mine, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (nargs < 2)
        left_behind();
    kind();
    if (!all_have || nargs > 1)
        return;
    messages();
    persistent();
    outside();
}
