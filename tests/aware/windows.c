/* One-sided communication with GPU memory, beside one_sided.c: what the standard allows and few programs do.
 * All ranks' memory is on the GPU, unless a test says otherwise. Rank 0 prints the results. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define N 1000 /* doubles of a window, and of each buffer */

static double *memory, *buffer, host[N];
static int next, before;
static bool uses_cuda; /* else this rank's memory is the host's */
static MPI_Win win;

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

/* first + step * i. */
static void fill(double *at, double first, double step)
{
    for (int i = 0; i < N; i++)
        host[i] = first + step * i;
    uses_cuda ? device_write(at, host, sizeof host) : (void)memcpy(at, host, sizeof host);
}

static bool has(const double *at, int from, int n, double first, double step)
{
    uses_cuda ? device_read(host, at, sizeof host) : (void)memcpy(host, at, sizeof host);
    for (int i = 0; i < n; i++)
        if (host[from + i] != first + step * i)
            return false;
    return true;
}

static void open_window(void)
{
    fill(memory, -1, 0);
    fill(buffer, 1e4 * rank, 1);
    MPI_Win_create(memory, N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
}

static void close_window(const char *what)
{
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
    result(what);
}

/* Before all others: the first block of host memory that the library takes is not for GPU memory of this
 * process, where the target's cannot be mapped. */
static void from_the_host(void)
{
    double values[3] = {rank, rank + 1, rank + 2};

    open_window();
    MPI_Put(values, 3, MPI_DOUBLE, next, 5, 3, MPI_DOUBLE, win);
    MPI_Accumulate(values, 3, MPI_DOUBLE, next, 8, 3, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    expect(has(memory, 5, 3, before, 1) && has(memory, 8, 3, before - 1, 1),
           "calls with host memory");
    close_window("host memory at the origin");
}

/* A basic type with a gap. */
static void pairs(void)
{
    struct {
        double value;
        int index, gap;
    } *all = (void *)host;

    open_window();
    for (int i = 0; i < N / 2; i++) {
        all[i].value = rank;
        all[i].index = all[i].gap = i;
    }
    device_write(buffer, host, sizeof host);
    MPI_Put(buffer, N / 2, MPI_DOUBLE_INT, next, 0, N / 2, MPI_DOUBLE_INT, win);
    MPI_Win_fence(0, win);
    device_read(host, memory, sizeof host);
    for (int i = 0; i < N / 2; i++)
        expect(all[i].value == before && all[i].index == i, "a put of pairs");
    fill(buffer, -1, 0);
    MPI_Get(buffer, N / 2, MPI_DOUBLE_INT, next, 0, N / 2, MPI_DOUBLE_INT, win);
    MPI_Win_fence(0, win);
    device_read(host, buffer, sizeof host);
    for (int i = 0; i < N / 2; i++)
        expect(all[i].value == rank && all[i].index == i, "a get of pairs");
    close_window("pairs of a double and an int");
}

/* Ten doubles that end where the buffer begins, and the displacement: behind the memory that they are in. */
static void from_behind(void)
{
    const MPI_Aint back = -80;
    const int n = 10;
    MPI_Datatype type;

    MPI_Type_create_hindexed(1, &n, &back, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    open_window();
    MPI_Put(buffer + N, 1, type, next, 20, 10, MPI_DOUBLE, win);
    MPI_Put(buffer, 10, MPI_DOUBLE, next, N, 1, type, win);
    MPI_Win_fence(0, win);
    expect(has(memory, 20, 10, 1e4 * before + N - 10, 1), "a put from behind");
    expect(has(memory, N - 10, 10, 1e4 * before, 1), "a put to what is behind");
    MPI_Get(buffer + N, 1, type, next, 20, 10, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    expect(has(buffer, N - 10, 10, 1e4 * rank + N - 10, 1), "a get from behind");
    MPI_Accumulate(buffer + N, 1, type, next, N, 1, type, MPI_SUM, win);
    MPI_Win_fence(0, win);
    expect(has(memory, N - 10, 10, 2e4 * before + N - 10, 2), "an accumulate from behind");
    close_window("buffers that begin behind their memory");
    MPI_Type_free(&type);
}

static int class_of(int error)
{
    int class;

    MPI_Error_class(error, &class);
    return class;
}

/* MPICH does not, of its own memory: what is not attached may be that. */
static bool mpi_checks_ranges(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    return strncmp(version, "Open MPI", 8) == 0;
}

/* As the receive of a message may be longer than the message. */
static void unlike_lengths(void)
{
    double fetched[20];
    int error;

    open_window();
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Put(buffer, 5, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE, win);
    MPI_Accumulate(buffer, 5, MPI_DOUBLE, next, 100, 10, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    expect(has(memory, 0, 5, 1e4 * before, 1) && has(memory, 5, 95, -1, 0), "a shorter put");
    expect(has(memory, 100, 5, 1e4 * before - 1, 1) && has(memory, 105, 95, -1, 0),
           "a shorter accumulate");
    for (int i = 0; i < 20; i++)
        fetched[i] = -2;
    MPI_Get(buffer + 500, 20, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE, win);
    MPI_Get_accumulate(buffer, 2, MPI_DOUBLE, fetched, 20, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE,
                       MPI_REPLACE, win);
    error = MPI_Put(buffer, 11, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE, win);
    expect(class_of(error) == MPI_ERR_TRUNCATE, "a put that is longer than its target");
    error = MPI_Put(buffer, -1, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE, win);
    expect(class_of(error) == MPI_ERR_COUNT, "a negative count");
    MPI_Win_fence(0, win);
    expect(has(buffer, 500, 5, 1e4 * rank, 1) && has(buffer, 505, 5, -1, 0) &&
               has(buffer, 510, 10, 1e4 * rank + 510, 1),
           "a longer get");
    expect(fetched[4] == 1e4 * rank + 4 && fetched[9] == -1 && fetched[10] == -2, "a longer fetch");
    close_window("one side is longer than the other");
}

/* All sizes are the same, and half of the memory is the host's. */
static void one_size(void)
{
    static double own[N];
    double *mine = rank % 2 ? own : memory;
    MPI_Info info;

    fill(memory, -1, 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "same_size", "true");
    MPI_Win_create(mine, N * sizeof *mine, sizeof *mine, info, MPI_COMM_WORLD, &win);
    MPI_Info_free(&info);
    MPI_Win_fence(0, win);
    fill(buffer, 1e4 * rank, 1);
    MPI_Put(buffer, 10, MPI_DOUBLE, next, 20, 10, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 10 && rank % 2; i++)
        expect(own[20 + i] == 1e4 * before + i, "a put to host memory");
    expect(rank % 2 || has(memory, 20, 10, 1e4 * before, 1), "a put to GPU memory");
    close_window("the info key same_size");
}

/* Programs have thousands of windows, and a process some hundred files. */
static int open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++) {
        char link[64], name[64];
        ssize_t length;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        length = readlink(link, name, sizeof name);
        n += length > 0 && memmem(name, (size_t)length, "gpubind-aware-window", 20) != NULL;
    }
    return n;
}

static void no_files(void)
{
    open_window();
    expect(open_files() == 0, "a window keeps a file open");
    close_window("a window has no file");
}

/* A flush completes a call, and its request is still to be completed. */
static void flushed_requests(void)
{
    double *own;
    MPI_Request request;

    MPI_Win_allocate(sizeof host, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    for (int i = 0; i < N; i++)
        own[i] = 1e4 * rank + i;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 50; round++) {
        fill(buffer, -1, 0);
        MPI_Rget(buffer, 10, MPI_DOUBLE, next, round, 10, MPI_DOUBLE, win, &request);
        MPI_Win_flush(next, win);
        expect(has(buffer, 0, 10, 1e4 * next + round, 1), "what a flush completes");
        fill(buffer, -2, 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(has(buffer, 0, 10, -2, 0), "what the request leaves");
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    result("a flush, and then the request");
}

/* One call to host memory and to GPU memory of a dynamic window: MPI would access the latter, too. */
static void both_kinds(void)
{
    MPI_Aint mine[2], theirs[2];
    MPI_Datatype type;
    int error;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_attach(win, host, sizeof host);
    MPI_Win_attach(win, memory, 80);
    MPI_Get_address(host, &mine[0]);
    MPI_Get_address(memory, &mine[1]);
    MPI_Sendrecv(mine, 2, MPI_AINT, before, 0, theirs, 2, MPI_AINT, next, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_create_hindexed(2, (const int[]){1, 1},
                             (const MPI_Aint[]){0, MPI_Aint_diff(theirs[1], theirs[0])}, MPI_DOUBLE,
                             &type);
    MPI_Type_commit(&type);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    fill(buffer, 7, 1);
    error = MPI_Put(buffer, 2, MPI_DOUBLE, next, theirs[0], 1, type, win);
    expect(class_of(error) == MPI_ERR_RMA_RANGE, "a put to both kinds of memory");
    error = MPI_Get(buffer, 2, MPI_DOUBLE, next, theirs[0], 1, type, win);
    expect(class_of(error) == MPI_ERR_RMA_RANGE, "a get from both kinds of memory");
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Win_detach(win, host);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    result("one call to both kinds of memory");
}

/* Of a dynamic window, which no rank has attached; and memory of no bytes. */
static void not_attached(void)
{
    MPI_Aint mine, theirs;
    double values[2] = {1, 2};
    int error;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    expect(MPI_Win_attach(win, host, 0) == MPI_SUCCESS, "an attach of no bytes");
    MPI_Win_attach(win, memory, 80);
    MPI_Get_address(memory, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, before, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    error = MPI_Put(values, 1, MPI_DOUBLE, next, theirs + 72, 1, MPI_DOUBLE, win);
    expect(error == MPI_SUCCESS, "a put to what is attached");
    error = MPI_Put(values, 2, MPI_DOUBLE, next, theirs + 72, 2, MPI_DOUBLE, win);
    expect(class_of(error) == MPI_ERR_RMA_RANGE, "a put that ends behind it");
    error = mpi_checks_ranges()
                ? MPI_Put(values, 1, MPI_DOUBLE, next, theirs + 800, 1, MPI_DOUBLE, win)
                : MPI_ERR_RMA_RANGE;
    expect(class_of(error) == MPI_ERR_RMA_RANGE, "a put behind it");
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    result("memory that is not attached");
}

/* The library says so on stderr. */
static void freed_buffers(void)
{
    double *freed = device_alloc(80);

    open_window();
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    device_free(freed);
    expect(class_of(MPI_Put(freed, 10, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE, win)) == MPI_ERR_BUFFER,
           "a put from what was freed");
    expect(class_of(MPI_Accumulate(freed, 10, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE, MPI_SUM, win)) ==
               MPI_ERR_BUFFER,
           "an accumulate from what was freed");
    close_window("GPU memory that was freed");
}

/* Collective, and with GPU memory. */
static int win_is_freed(MPI_Win freed, int key, void *value, void *extra)
{
    (void)freed, (void)key, (void)extra;
    MPI_Allreduce(buffer, value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

static void callback(void)
{
    int key;

    open_window();
    fill(buffer, 1, 0);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_is_freed, &key, NULL);
    MPI_Win_set_attr(win, key, buffer + 5);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
    MPI_Win_free_keyval(&key);
    expect(has(buffer, 5, 1, size, 0), "a reduction");
    result("a callback of MPI_Win_free");
}

/* One rank has not started CUDA, as one that writes what the others compute. */
static void without_cuda(void)
{
    double sum[2] = {rank, 1}, seen;

    open_window();
    MPI_Put(buffer, 10, MPI_DOUBLE, next, 20, 10, MPI_DOUBLE, win);
    MPI_Accumulate(sum, 2, MPI_DOUBLE, next, 50, 2, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    expect(has(memory, 20, 10, 1e4 * before, 1) && has(memory, 50, 2, before - 1, 1 - before),
           "a put and an accumulate");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Get(&seen, 1, MPI_DOUBLE, next, 22, 1, MPI_DOUBLE, win);
    MPI_Win_unlock(next, win);
    expect(seen == 1e4 * rank + 2, "a get");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    close_window("a rank that does not use CUDA");
}

/* Threads with buffers of their own, each of which completes its get from host memory: what other threads have
 * begun meanwhile is not complete. */
#define THREADS 4
#define EACH (N / THREADS)

static void *gets(void *thread)
{
    const int first = *(int *)thread * EACH;
    double seen[EACH];
    bool good = true;

    device_start();
    for (int round = 0; round < 150 && good; round++) {
        for (int i = 0; i < EACH; i++)
            seen[i] = -1;
        device_write(buffer + first, seen, sizeof seen);
        MPI_Get(buffer + first, EACH, MPI_DOUBLE, next, first, EACH, MPI_DOUBLE, win);
        MPI_Win_flush(next, win);
        device_read(seen, buffer + first, sizeof seen);
        for (int i = 0; i < EACH; i++)
            good &= seen[i] == 1e4 * next + first + i;
    }
    return good ? thread : NULL;
}

static void in_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    for (int i = 0; i < N; i++)
        host[i] = 1e4 * rank + i;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Win_create(host, sizeof host, sizeof *host, MPI_INFO_NULL, MPI_COMM_WORLD, &win) !=
        MPI_SUCCESS) { /* as Open MPI 4.1 on a machine without a network */
        if (rank == 0)
            tap_skip("gets of several threads", "this MPI makes no window of host memory");
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, gets, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        void *good;

        pthread_join(threads[i], &good);
        expect(good != NULL, "a get of a thread");
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    result("gets of several threads");
}

static void on_gpus(void)
{
    from_the_host();
    pairs();
    from_behind();
    unlike_lengths();
    one_size();
    no_files();
    flushed_requests();
    both_kinds();
    not_attached();
    freed_buffers();
    callback();
}

/* `windows without_cuda`: the last rank does not start CUDA. */
int main(int argc, char **argv)
{
    const char *test = argc > 1 ? argv[1] : "";
    const bool alone = strcmp(test, "without_cuda") == 0, threads = strcmp(test, "threads") == 0;
    int level;

    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    uses_cuda = !alone || rank < size - 1;
    if (uses_cuda)
        device_start();
    memory = uses_cuda ? device_alloc(sizeof host) : malloc(sizeof host);
    buffer = uses_cuda ? device_alloc(sizeof host) : malloc(sizeof host);
    threads ? in_threads() : alone ? without_cuda() : on_gpus();
    uses_cuda ? device_free(memory) : free(memory);
    uses_cuda ? device_free(buffer) : free(buffer);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
