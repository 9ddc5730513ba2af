/* One-sided communication with GPU memory: windows of which some ranks' memory is on the GPU and some on
 * the host, and buffers of both kinds at the origin. Rank 0 prints the results. */
#include <mpi.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define N 1000 /* doubles of a window, and of each buffer */

static double *gpu_memory, *gpu_buffer, host_memory[N], host_buffer[N];
static MPI_Win win;
/* This rank's memory in the window, and the origin's buffer, in this run. */
static bool memory_is_gpu, buffer_is_gpu;
static double *memory, *buffer;

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s (the window's memory is the %s's, the buffer the %s's)", rank, what,
                 memory_is_gpu ? "GPU" : "host", buffer_is_gpu ? "GPU" : "host");
}

static void set(double *at, const double *values, int n)
{
    if (at == memory ? memory_is_gpu : buffer_is_gpu)
        device_write(at, values, (size_t)n * sizeof *at);
    else
        memcpy(at, values, (size_t)n * sizeof *at);
}

static void get(double *values, const double *at, int n)
{
    if (at == memory ? memory_is_gpu : buffer_is_gpu)
        device_read(values, at, (size_t)n * sizeof *at);
    else
        memcpy(values, at, (size_t)n * sizeof *at);
}

/* first + step * i. */
static void fill(double *at, double first, double step)
{
    double values[N];

    for (int i = 0; i < N; i++)
        values[i] = first + step * i;
    set(at, values, N);
}

static bool has(const double *at, int from, int n, double first, double step)
{
    double values[N];

    get(values, at, N);
    for (int i = 0; i < n; i++)
        if (values[from + i] != first + step * i)
            return false;
    return true;
}

static int class_of(int error)
{
    int class;

    MPI_Error_class(error, &class);
    return class;
}

/* ---- epochs: how the calls of a test are begun and ended */

enum epoch { FENCE, GENERAL, LOCK, LOCK_ALL, EPOCHS };
static const char *const epochs[] = {"fence", "post, start, complete, wait", "lock", "lock_all"};

static MPI_Group everyone;

static void begin(enum epoch epoch, int target)
{
    switch (epoch) {
    case FENCE:
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        break;
    case GENERAL:
        MPI_Win_post(everyone, 0, win);
        MPI_Win_start(everyone, 0, win);
        break;
    case LOCK:
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        break;
    default:
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
    }
}

static void end(enum epoch epoch, int target)
{
    switch (epoch) {
    case FENCE:
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        return;
    case GENERAL:
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        return;
    case LOCK:
        MPI_Win_unlock(target, win);
        break;
    default:
        MPI_Win_flush(target, win);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- put and get */

static void put_and_get(enum epoch epoch)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;

    fill(memory, -1, 0);
    fill(buffer, 1e4 * rank, 1);
    begin(epoch, next);
    MPI_Put(buffer + 10, 500, MPI_DOUBLE, next, 20, 500, MPI_DOUBLE, win);
    end(epoch, next);
    expect(has(memory, 0, 20, -1, 0) && has(memory, 520, N - 520, -1, 0), "what a put leaves");
    expect(has(memory, 20, 500, 1e4 * before + 10, 1), "what a put writes");

    fill(memory, 7e4 * rank, 2);
    fill(buffer, -1, 0);
    begin(epoch, next);
    MPI_Get(buffer + 3, 400, MPI_DOUBLE, next, 100, 400, MPI_DOUBLE, win);
    end(epoch, next);
    expect(has(buffer, 3, 400, 7e4 * next + 200, 2), "what a get reads");
    expect(has(buffer, 403, N - 403, -1, 0), "what a get leaves");
}

/* Every third pair of doubles here, every second double there. */
static void with_gaps(void)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Datatype here, there;
    double values[N];

    MPI_Type_vector(100, 2, 6, MPI_DOUBLE, &here);
    MPI_Type_vector(200, 1, 2, MPI_DOUBLE, &there);
    MPI_Type_commit(&here);
    MPI_Type_commit(&there);
    fill(memory, -1, 0);
    fill(buffer, 1e4 * rank, 1);
    MPI_Win_fence(0, win);
    MPI_Put(buffer, 1, here, next, 5, 1, there, win);
    MPI_Win_fence(0, win);
    get(values, memory, N);
    for (int i = 0; i < 200; i++) {
        expect(values[5 + 2 * i] == 1e4 * before + 6 * (i / 2) + i % 2, "a put with gaps");
        expect(values[6 + 2 * i] == -1, "what is between");
    }
    fill(buffer, -2, 0);
    MPI_Win_fence(0, win);
    MPI_Get(buffer, 1, here, next, 5, 1, there, win);
    MPI_Win_fence(0, win);
    get(values, buffer, N);
    for (int i = 0; i < 100; i++) {
        expect(values[6 * i] == 1e4 * rank + 6 * i && values[6 * i + 1] == 1e4 * rank + 6 * i + 1,
               "a get with gaps");
        expect(values[6 * i + 2] == -2, "what is between here");
    }
    MPI_Type_free(&here);
    MPI_Type_free(&there);
}

static void with_requests(void)
{
    const int next = (rank + 1) % size;
    MPI_Request requests[2];

    fill(memory, 3e4 * rank, 1);
    fill(buffer, -1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Rget(buffer, 100, MPI_DOUBLE, next, 0, 100, MPI_DOUBLE, win, &requests[0]);
    MPI_Rget(buffer + 100, 100, MPI_DOUBLE, next, 300, 100, MPI_DOUBLE, win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(has(buffer, 0, 100, 3e4 * next, 1) && has(buffer, 100, 100, 3e4 * next + 300, 1),
           "gets with requests");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rput(buffer, 100, MPI_DOUBLE, next, 500, 100, MPI_DOUBLE, win, &requests[0]);
    MPI_Raccumulate(buffer, 100, MPI_DOUBLE, next, 700, 100, MPI_DOUBLE, MPI_SUM, win,
                    &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(has(memory, 500, 100, 3e4 * rank, 1), "a put with a request");
    expect(has(memory, 700, 100, 6e4 * rank + 700, 2), "an accumulate with a request");
}

/* ---- accumulates */

#define ROUNDS 20

static void sums(void)
{
    for (int target = 0; target < size; target++) {
        fill(memory, rank, 0);
        fill(buffer, 1, 0.5);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < ROUNDS; i++)
            MPI_Accumulate(buffer, 50, MPI_DOUBLE, target, 100, 50, MPI_DOUBLE, MPI_SUM, win);
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == target)
            expect(has(memory, 100, 50, rank + ROUNDS * size, ROUNDS * size * 0.5), "sums of all");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Each rank draws numbers, and no two get the same: half of them by MPI_Fetch_and_op. */
static void numbers(int target)
{
    double drawn[ROUNDS], one[2] = {1}, both[2], all, mine = 0;

    fill(memory, 0, 0);
    set(buffer, one, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2)
            MPI_Fetch_and_op(buffer, buffer + 1, MPI_DOUBLE, target, 9, MPI_SUM, win);
        else
            MPI_Get_accumulate(buffer, 1, MPI_DOUBLE, buffer + 1, 1, MPI_DOUBLE, target, 9, 1,
                               MPI_DOUBLE, MPI_SUM, win);
        MPI_Win_flush(target, win);
        get(both, buffer, 2);
        drawn[i] = both[1];
        mine += drawn[i];
    }
    MPI_Win_unlock_all(win);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(all == 0.5 * ROUNDS * size * (ROUNDS * size - 1), "numbers that are drawn");
    for (int i = 1; i < ROUNDS; i++)
        expect(drawn[i] > drawn[i - 1], "numbers that rise");
}

/* A lock that is made of compare and swap; long has the bytes of a double. */
static void swaps(int target)
{
    long *longs = (long *)buffer, values[3] = {1, 0, -1}, seen = -1;

    fill(memory, 0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 5; i++) {
        do {
            values[0] = 1, values[1] = 0, values[2] = -1;
            set(buffer, (double *)values, 3);
            MPI_Compare_and_swap(longs, longs + 1, longs + 2, MPI_LONG, target, 0, win);
            MPI_Win_flush(target, win);
            get((double *)values, buffer, 3);
        } while (values[2] != 0);
        MPI_Get(longs, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
        MPI_Win_flush(target, win);
        get((double *)values, buffer, 1);
        values[0]++;
        set(buffer, (double *)values, 1);
        MPI_Put(longs, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
        MPI_Win_flush(target, win);
        values[0] = 0;
        set(buffer, (double *)values, 1);
        MPI_Accumulate(longs, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_REPLACE, win);
        MPI_Win_flush(target, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == target) {
        long both[2];

        get((double *)both, memory, 2);
        seen = both[1];
    }
    MPI_Bcast(&seen, 1, MPI_LONG, target, MPI_COMM_WORLD);
    expect(seen == 5 * size, "a lock made of compare and swap");
}

/* A pair has a gap in it: the largest of all, and whose it is. */
static void pairs(void)
{
    struct {
        double value;
        int index;
    } mine = {0}, found = {0};
    double raw[2];

    mine.value = (rank * 7) % 5;
    mine.index = rank;
    memset(raw, 0, sizeof raw);
    memcpy(raw, &mine, sizeof mine);
    fill(memory, -1, 0);
    set(buffer, raw, 2);
    MPI_Win_fence(0, win);
    MPI_Accumulate(buffer, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (rank == 0) {
        double best = -1;
        int of = -1;

        for (int i = 0; i < size; i++)
            if ((i * 7) % 5 > best) {
                best = (i * 7) % 5;
                of = i;
            }
        get(raw, memory, 2);
        memcpy(&found, raw, sizeof found);
        expect(found.value == best && found.index == of, "MPI_MAXLOC");
    }
}

/* ---- windows of other kinds, and faults */

static void attributes(void)
{
    void *base = NULL;
    MPI_Aint *nbytes = NULL;
    int there = 0, *unit = NULL;

    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &there);
    expect(there && base == memory, "MPI_WIN_BASE");
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &nbytes, &there);
    expect(there && *nbytes == (MPI_Aint)(N * sizeof *memory), "MPI_WIN_SIZE");
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &there);
    expect(there && *unit == (int)sizeof *memory, "MPI_WIN_DISP_UNIT");
}

/* Of GPU memory alone: what MPI finds in its own is MPI's matter. */
static void faults(void)
{
    int error;

    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (memory_is_gpu) {
        error = MPI_Put(buffer, 1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, win);
        expect(class_of(error) == MPI_ERR_RMA_SYNC, "a put outside of an epoch");
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        error = MPI_Put(buffer, 2, MPI_DOUBLE, rank, N - 1, 2, MPI_DOUBLE, win);
        expect(class_of(error) == MPI_ERR_RMA_RANGE, "a put behind the end");
        error = MPI_Put(buffer, 1, MPI_DOUBLE, rank, -1, 1, MPI_DOUBLE, win);
        expect(class_of(error) == MPI_ERR_RMA_RANGE, "a put before the start");
        error = MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        expect(class_of(error) == MPI_ERR_RMA_SYNC, "a second lock");
        MPI_Win_unlock(rank, win);
        error = MPI_Win_unlock(rank, win);
        expect(class_of(error) == MPI_ERR_RMA_SYNC, "an unlock too many");
    }
    MPI_Win_fence(0, win);
    MPI_Put(buffer, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
}

static void dynamic(void)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Aint mine, theirs;
    MPI_Win of_all;

    fill(memory, -1, 0);
    fill(buffer, 1e4 * rank, 1);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &of_all);
    MPI_Win_attach(of_all, memory, N * sizeof *memory);
    MPI_Get_address(memory, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, before, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Win_fence(0, of_all);
    MPI_Put(buffer, 100, MPI_DOUBLE, next, MPI_Aint_add(theirs, 10 * sizeof(double)), 100,
            MPI_DOUBLE, of_all);
    MPI_Win_fence(0, of_all);
    expect(has(memory, 10, 100, 1e4 * before, 1), "a put to a dynamic window");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, of_all);
    MPI_Accumulate(buffer, 100, MPI_DOUBLE, next, MPI_Aint_add(theirs, 10 * sizeof(double)), 100,
                   MPI_DOUBLE, MPI_SUM, of_all);
    MPI_Win_unlock(next, of_all);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(has(memory, 10, 100, 2e4 * before, 2), "an accumulate to a dynamic window");
    MPI_Win_detach(of_all, memory);
    MPI_Win_free(&of_all);
}

/* The memory that MPI allocates is the host's; the buffer need not be. */
static void allocated(void)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    double *base;
    MPI_Win own;

    fill(buffer, 1e4 * rank, 1);
    MPI_Win_allocate(N * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &own);
    MPI_Win_fence(0, own);
    MPI_Put(buffer, 100, MPI_DOUBLE, next, 0, 100, MPI_DOUBLE, own);
    MPI_Win_fence(0, own);
    expect(base[0] == 1e4 * before && base[99] == 1e4 * before + 99, "a put to MPI_Win_allocate's");
    MPI_Get(buffer, 100, MPI_DOUBLE, next, 0, 100, MPI_DOUBLE, own);
    MPI_Win_fence(0, own);
    expect(has(buffer, 0, 100, 1e4 * rank, 1), "a get from MPI_Win_allocate's");
    MPI_Win_free(&own);
}

/* Open MPI 4.1's windows over messages end the job at pairs of numbers. */
static bool mpi_knows_pairs(void)
{
    const char *osc = getenv("OMPI_MCA_osc");

    return !osc || strcmp(osc, "pt2pt") != 0;
}

/* mask: the ranks whose memory is the GPU's. */
static void take(unsigned mask, bool buffers)
{
    memory_is_gpu = mask >> rank & 1;
    buffer_is_gpu = buffers;
    memory = memory_is_gpu ? gpu_memory : host_memory;
    buffer = buffer_is_gpu ? gpu_buffer : host_buffer;
    MPI_Win_create(memory, N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    attributes();
}

static void run(unsigned mask, bool buffers)
{
    char name[128];

    take(mask, buffers);
    for (enum epoch epoch = FENCE; epoch < EPOCHS; epoch++) {
        put_and_get(epoch);
        snprintf(name, sizeof name, "memory %x, buffer %d: %s", mask, buffers, epochs[epoch]);
        result(name);
    }
    with_gaps();
    with_requests();
    sums();
    for (int target = 0; target < size; target++)
        numbers(target);
    if (mpi_knows_pairs())
        pairs();
    snprintf(name, sizeof name, "memory %x, buffer %d: gaps, requests, accumulates", mask, buffers);
    result(name);
    if (mask == (1U << size) - 1) /* Open MPI's own ends with a fault */
        swaps(size - 1);
    faults();
    snprintf(name, sizeof name, "memory %x, buffer %d: swaps, faults", mask, buffers);
    result(name);
    MPI_Win_free(&win);
    dynamic();
    allocated();
    snprintf(name, sizeof name, "memory %x, buffer %d: other windows", mask, buffers);
    result(name);
}

/* Open MPI 4.1 makes no window of host memory on a machine without a network. */
static bool mpi_makes_windows(void)
{
    bool made;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    made = MPI_Win_create(host_memory, N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (made)
        MPI_Win_free(&win);
    return made;
}

static void of_host_memory(void)
{
    if (mpi_makes_windows())
        run(0, true);
    else if (rank == 0)
        tap_skip("windows of host memory alone", "this MPI makes none here");
}

/* Ranks that do not reach each other's memory: tests/aware/mirror and attached have windows of it. */
static void far_away(void)
{
    char name[64];

    for (unsigned mask = 1; mask < 4 && mpi_makes_windows(); mask += 2) {
        take(mask, true);
        for (enum epoch epoch = FENCE; epoch <= GENERAL; epoch++)
            put_and_get(epoch);
        with_gaps();
        if (mpi_knows_pairs())
            pairs();
        MPI_Win_free(&win);
        snprintf(name, sizeof name, "memory %x, out of reach", mask);
        result(name);
    }
    of_host_memory();
}

static bool are_on_one_node(void)
{
    MPI_Comm node;
    int here = 0;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    return here == size;
}

static void all_kinds(void)
{
    run((1U << size) - 1, true);
    run((1U << size) - 1, false);
    run(1, true);
    if (size > 1)
        run(2, false);
    of_host_memory();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &everyone);
    device_start();
    gpu_memory = device_alloc(N * sizeof *gpu_memory);
    gpu_buffer = device_alloc(N * sizeof *gpu_buffer);
    getenv("GPUBIND_PATH") || !are_on_one_node() ? far_away() : all_kinds();
    device_free(gpu_memory);
    device_free(gpu_buffer);
    MPI_Group_free(&everyone);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
