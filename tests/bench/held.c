/* What the driver does not do while a stream waits for a word, as it does for a message:
 * calls that return only when the stream goes on; how many waiting streams leave the
 * queues of others free; how much a waiting stream takes before a call waits for room,
 * and whether another thread may copy meanwhile. By hand, on a machine with a GPU:
 *
 *     make tests/bench/held && tests/bench/held
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu/core/driver.h"

#define HELD_FOR 0.5 /* seconds */
#define PAGE 65536u
#define MOST 256

static struct cuda_driver cuda;
static _Atomic uint32_t *word; /* of a page-locked page; [16]: what streams write */
static uint32_t turn;
static struct CUstream_st *streams[MOST], *other;
static cuda_address memory[2], foreign, made;
static struct cuda_ipc_handle handle;
static void *page;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(int status, const char *what)
{
    if (status == CUDA_OK)
        return;
    fprintf(stderr, "held: %s: CUDA error %d\n", what, status);
    exit(1);
}

static cuda_address at(int n)
{
    return (cuda_address)(uintptr_t)(word + n);
}

static void hold(int n)
{
    turn++;
    for (int i = 0; i < n; i++)
        must(cuda.cuStreamWaitValue32_v2(streams[i], at(0), turn, CUDA_WAIT_GEQ), "a wait");
}

static void *let_go(void *unused)
{
    (void)unused;
    usleep((useconds_t)(1e6 * HELD_FOR));
    atomic_store(word, turn);
    return NULL;
}

/* Seconds that it takes while n streams are held. */
static double timed(int n, int (*call)(void), int *status)
{
    pthread_t thread;
    double before;

    hold(n);
    pthread_create(&thread, NULL, let_go, NULL);
    usleep(50000);
    before = now();
    *status = call();
    before = now() - before;
    pthread_join(thread, NULL);
    for (int i = 0; i < n; i++)
        must(cuda.cuStreamSynchronize(streams[i]), "a stream that was let go");
    return before;
}

static int copy(void)
{
    int status = cuda.cuMemcpyDtoDAsync_v2(memory[0], memory[1], 1 << 20, other);

    return status ? status : cuda.cuStreamSynchronize(other);
}

static int copy_in_new_stream(void)
{
    int status = cuda.cuStreamCreate(&other, CUDA_STREAM_NON_BLOCKING);

    return status ? status : copy();
}

static int copy_to_host(void)
{
    int status = cuda.cuMemcpyDtoHAsync_v2((char *)page + PAGE / 2, memory[1], 4096, other);

    return status ? status : cuda.cuStreamSynchronize(other);
}

static int allocate(void)
{
    return cuda.cuMemAlloc_v2(&made, 64 << 20);
}
static int free_it(void)
{
    return cuda.cuMemFree_v2(made);
}
static int lock_pages(void)
{
    return cuda.cuMemHostRegister_v2((char *)page + PAGE, PAGE, 1);
}
static int unlock_pages(void)
{
    return cuda.cuMemHostUnregister((char *)page + PAGE);
}
static int make_event(void)
{
    struct CUevent_st *event;
    return cuda.cuEventCreate(&event, 2);
}
static int ask_legacy(void)
{
    return cuda.cuStreamQuery(CUDA_LEGACY_STREAM);
}
static int export_it(void)
{
    return cuda.cuIpcGetMemHandle(&handle, memory[1]);
}
static int map(void)
{
    return cuda.cuIpcOpenMemHandle_v2(&foreign, handle, CUDA_IPC_LAZY_PEER);
}
static int unmap(void)
{
    return cuda.cuIpcCloseMemHandle(foreign);
}

/* ---- memory of cuMemCreate, one piece */

static struct cuda_memory_properties properties = {.type = CUDA_PINNED,
                                                   .handle_types = CUDA_FILE_DESCRIPTOR,
                                                   .location = {CUDA_LOCATION_DEVICE, 0}};
static unsigned long long created, imported;
static cuda_address placed;
static size_t piece;
static int descriptor = -1;

static int create(void)
{
    int status = cuda.cuMemGetAllocationGranularity(&piece, &properties, 0);

    return status ? status : cuda.cuMemCreate(&created, piece, &properties, 0);
}

static int export_piece(void)
{
    return cuda.cuMemExportToShareableHandle(&descriptor, created, CUDA_FILE_DESCRIPTOR, 0);
}

static int import(void)
{
    return cuda.cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)descriptor,
                                               CUDA_FILE_DESCRIPTOR);
}

static int place(void)
{
    int status = cuda.cuMemAddressReserve(&placed, piece, 0, 0, 0);

    return status ? status : cuda.cuMemMap(placed, piece, 0, imported, 0);
}

static int give_access(void)
{
    const struct cuda_memory_access access = {properties.location, CUDA_READ_AND_WRITE};

    return cuda.cuMemSetAccess(placed, piece, &access, 1);
}

static int release(void)
{
    int status = cuda.cuMemRelease(imported);

    return status ? status : cuda.cuMemRelease(created);
}

static int unplace(void)
{
    return cuda.cuMemUnmap(placed, piece);
}
static int free_address(void)
{
    return cuda.cuMemAddressFree(placed, piece);
}

/* clang-format off */
static const struct {
    const char *name;
    int (*call)(void);
} calls[] = {
    {"copy in a stream of before", copy}, {"copy in a new stream", copy_in_new_stream},
    {"copy to page-locked memory", copy_to_host}, {"cuMemAlloc", allocate},
    {"cuMemFree", free_it}, {"cuMemHostRegister", lock_pages},
    {"cuMemHostUnregister", unlock_pages}, {"cuEventCreate", make_event},
    {"cuStreamQuery(legacy)", ask_legacy}, {"cuIpcOpenMemHandle", map},
    {"cuIpcCloseMemHandle", unmap}, {"cuIpcGetMemHandle", export_it},
    {"cuMemCreate", create}, {"cuMemExportToShareableHandle", export_piece},
    {"cuMemImportFromShareable...", import}, {"cuMemMap", place},
    {"cuMemSetAccess", give_access}, {"cuMemRelease", release}, {"cuMemUnmap", unplace},
    {"cuMemAddressFree", free_address},
};
/* clang-format on */

/* A stream that is never let go in time takes so many pairs of a write and a wait. */
static _Atomic int queued;

static void *fill(void *unused)
{
    (void)unused;
    for (queued = 0; queued < 20000 && atomic_load(word) < turn; queued++) {
        must(cuda.cuStreamWriteValue32_v2(streams[0], at(16), 1, 0), "a write");
        must(cuda.cuStreamWaitValue32_v2(streams[0], at(0), turn, CUDA_WAIT_GEQ), "a wait");
    }
    return NULL;
}

static void room(void)
{
    pthread_t thread, timer;
    double before;
    int n;

    hold(1);
    pthread_create(&thread, NULL, fill, NULL);
    usleep(400000);
    n = queued;
    pthread_create(&timer, NULL, let_go, NULL);
    before = now();
    must(copy(), "a copy");
    before = now() - before;
    pthread_join(timer, NULL);
    pthread_join(thread, NULL);
    must(cuda.cuStreamSynchronize(streams[0]), "the full stream");
    printf("a held stream takes %d messages; a copy of another thread then %s (%.0f us)\n", n,
           before > HELD_FOR / 2 ? "WAITS" : "is done", 1e6 * before);
}

/* Another process's memory, to be mapped. */
static pid_t start_owner(int *to, int *from)
{
    int there[2], back[2];
    pid_t pid;

    if (pipe(there) || pipe(back))
        exit(1);
    pid = fork();
    if (pid == 0) {
        struct CUctx_st *context;

        close(there[1]);
        must(cuda.cuInit(0), "cuInit");
        must(cuda.cuDevicePrimaryCtxRetain(&context, 0), "a context");
        must(cuda.cuCtxPushCurrent_v2(context), "a context");
        must(cuda.cuMemAlloc_v2(&made, 4 << 20), "cuMemAlloc");
        must(cuda.cuIpcGetMemHandle(&handle, made), "cuIpcGetMemHandle");
        if (write(back[1], &handle, sizeof handle) != sizeof handle)
            _exit(1);
        _exit(read(there[0], &handle, 1) < 0);
    }
    *to = there[1];
    *from = back[0];
    return pid;
}

int main(void)
{
    struct gpubind_error err;
    struct CUctx_st *context;
    int to, from, status;
    pid_t owner;

    if (!cuda_driver_open(&cuda, &err)) {
        fprintf(stderr, "held: %s\n", err.text);
        return 1;
    }
    owner = start_owner(&to, &from);
    must(cuda.cuInit(0), "cuInit");
    must(cuda.cuDevicePrimaryCtxRetain(&context, 0), "a context");
    must(cuda.cuCtxPushCurrent_v2(context), "a context");
    if (read(from, &handle, sizeof handle) != sizeof handle)
        return 1;
    page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(cuda.cuMemHostRegister_v2(page, PAGE, CUDA_REGISTER_PORTABLE), "cuMemHostRegister");
    word = page;
    must(cuda.cuStreamCreate(&other, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
    for (int i = 0; i < MOST; i++)
        must(cuda.cuStreamCreate(&streams[i], CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
    for (int i = 0; i < 2; i++)
        must(cuda.cuMemAlloc_v2(&memory[i], 1 << 20), "cuMemAlloc");
    must(copy(), "a copy");
    must(copy_to_host(), "a copy");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const double took = timed(1, calls[i].call, &status);

        printf("%-28s %s (%.0f us, result %d)\n", calls[i].name,
               took > HELD_FOR / 2 ? "WAITS" : "returns", 1e6 * took, status);
    }
    for (int n = 4; n <= MOST; n *= 2) {
        const double took = timed(n, copy, &status);

        printf("%3d streams held: a copy %s (%.0f us)\n", n,
               took > HELD_FOR / 2 ? "WAITS" : "is done", 1e6 * took);
    }
    room();
    if (write(to, "", 1) != 1)
        return 1;
    waitpid(owner, &status, 0);
    return 0;
}
