/* The simulated driver: memory that several processes share. */
#include "tests/sim/check.h"
#include "tests/sim/pair.h"

static size_t free_memory(void)
{
    size_t nbytes = 0, total;

    WANT(cu.cuMemGetInfo_v2(&nbytes, &total), CUDA_OK);
    return nbytes;
}

static void read_imported(cuda_address address, cuda_address *start, unsigned *exportable,
                          int *ordinal)
{
    int which[] = {CUDA_POINTER_START, CUDA_POINTER_IPC_CAPABLE, CUDA_POINTER_ORDINAL};
    void *data[] = {start, exportable, ordinal};

    WANT(cu.cuPointerGetAttributes(3, which, data, address), CUDA_OK);
}

static void owner_shares(const struct pair *pair)
{
    struct cuda_ipc_handle handle, inside;
    cuda_address a, b, pool;

    start_driver(0);
    allocate(500);
    a = allocate(1000);
    WANT(cu.cuMemcpyHtoD_v2(a + 990, "message", 8), CUDA_OK);
    WANT(cu.cuStreamSynchronize(NULL), CUDA_OK); /* the copy may return before it is done */
    handle = handle_of(a);
    inside = handle_of(a + 17);
    WANT(memcmp(&handle, &inside, sizeof handle), 0);
    WANT(cu.cuIpcOpenMemHandle_v2(&b, handle, CUDA_IPC_LAZY_PEER), 201);
    WANT(cu.cuMemAllocAsync(&pool, 100, NULL), CUDA_OK);
    WANT(cu.cuIpcGetMemHandle(&inside, pool), CUDA_INVALID_VALUE);
    WANT(cu.cuMemAllocManaged(&pool, 100, 1), CUDA_OK);
    WANT(cu.cuIpcGetMemHandle(&inside, pool), CUDA_INVALID_VALUE);
    tell(pair, &handle, sizeof handle);
    await(pair);
    WANT(byte_at(a + 1), 'P');
    WANT(cu.open_mappings(), 0);
}

static void peer_maps(const struct pair *pair, int device)
{
    struct cuda_ipc_handle handle, other;
    cuda_address a, again, start;
    unsigned exportable = 1;
    int ordinal = -1;

    hear(pair, &handle, sizeof handle);
    load_driver();
    WANT(cu.cuInit(0), CUDA_OK);
    WANT(cu.cuIpcOpenMemHandle_v2(&a, handle, CUDA_IPC_LAZY_PEER), 201);
    start_driver(device);
    WANT(cu.cuIpcOpenMemHandle_v2(&a, handle, 0), CUDA_INVALID_VALUE);
    a = open_handle(handle);
    again = open_handle(handle);
    WANT(a == again, 1);
    WANT(cu.open_mappings(), 1);
    WANT(byte_at(a + 990), 'm');
    WANT(cu.cuMemcpyHtoD_v2(a + 1, "PEER", 4), CUDA_OK);
    WANT(cu.cuMemcpyHtoD_v2(a + 998, "PEER", 4), CUDA_INVALID_VALUE);
    read_imported(a + 5, &start, &exportable, &ordinal);
    WANT(start == a && !exportable && ordinal == device, 1);
    WANT(cu.cuIpcGetMemHandle(&other, a), CUDA_INVALID_VALUE);
    WANT(cu.cuMemFree_v2(a), CUDA_INVALID_VALUE);
    WANT(cu.cuIpcCloseMemHandle(a + 1), CUDA_INVALID_VALUE);
    WANT(cu.cuIpcCloseMemHandle(a), CUDA_OK);
    WANT(byte_at(a + 990), 'm');
    WANT(cu.cuIpcCloseMemHandle(a), CUDA_OK);
    WANT(cu.cuIpcCloseMemHandle(a), CUDA_INVALID_VALUE);
    WANT(cu.open_mappings(), 0);
    memset(&handle, 0, sizeof handle);
    WANT(cu.cuIpcOpenMemHandle_v2(&a, handle, CUDA_IPC_LAZY_PEER), CUDA_INVALID_VALUE);
    turn(pair);
}

static void shares(void)
{
    struct pair pair = pair_fork();

    if (pair.peer)
        owner_shares(&pair);
    else
        peer_maps(&pair, 1);
    pair_join(&pair);
}

/* The peer sees another device than the owner's, and no more. */
static void shares_unseen(void)
{
    struct pair pair = pair_fork();

    setenv("CUDA_VISIBLE_DEVICES", pair.peer ? "GPU-1" : "GPU-2", 1);
    if (pair.peer)
        owner_shares(&pair);
    else
        peer_maps(&pair, 0);
    pair_join(&pair);
}

/* Memory of device 0 is opened in device 1's process: with that result. */
static void open_result(int wanted, bool other_job)
{
    struct pair pair = pair_fork();
    struct cuda_ipc_handle handle;
    cuda_address a;

    if (!pair.peer && other_job)
        setenv("GPUBIND_SIM_JOB", "another", 1);
    start_driver(pair.peer ? 0 : 1);
    if (pair.peer) {
        handle = handle_of(allocate(100));
        tell(&pair, &handle, sizeof handle);
        await(&pair);
    } else {
        hear(&pair, &handle, sizeof handle);
        WANT(cu.cuIpcOpenMemHandle_v2(&a, handle, CUDA_IPC_LAZY_PEER), wanted);
        turn(&pair);
    }
    pair_join(&pair);
}

static void no_peers(void)
{
    open_result(217, false);
}

static void refused(void)
{
    open_result(801, false);
}

static void refused_otherwise(void)
{
    open_result(999, false);
}

static void other_job(void)
{
    open_result(CUDA_INVALID_VALUE, true);
}

#define LARGE ((size_t)600 << 20)

/* The peer's mapping keeps the memory, but not what was in it. */
static void freed_early(void)
{
    struct pair pair = pair_fork();
    struct cuda_ipc_handle handle;
    cuda_address a, again;
    size_t before;

    start_driver(0);
    if (pair.peer) {
        before = free_memory();
        a = allocate(LARGE);
        WANT(cu.cuMemcpyHtoD_v2(a + LARGE / 2, "x", 1), CUDA_OK);
        handle = handle_of(a);
        tell(&pair, &handle, sizeof handle);
        await(&pair);
        WANT(cu.cuMemFree_v2(a), CUDA_OK);
        WANT(before - free_memory() >= LARGE, 1);
        WANT(cu.cuMemAlloc_v2(&again, LARGE), CUDA_OUT_OF_MEMORY);
        turn(&pair);
        await(&pair);
        WANT(free_memory(), before);
        again = allocate(LARGE);
        WANT(again == a, 1);
        turn(&pair);
    } else {
        hear(&pair, &handle, sizeof handle);
        a = open_handle(handle);
        WANT(byte_at(a + LARGE / 2), 'x');
        turn(&pair);
        await(&pair);
        WANT(byte_at(a + LARGE / 2), 0xdd);
        WANT(open_handle(handle) == a, 1); /* it is still mapped */
        WANT(cu.cuIpcCloseMemHandle(a), CUDA_OK);
        WANT(cu.cuIpcCloseMemHandle(a), CUDA_OK);
        WANT(cu.cuIpcOpenMemHandle_v2(&again, handle, CUDA_IPC_LAZY_PEER), CUDA_INVALID_VALUE);
        turn(&pair);
        await(&pair);
    }
    pair_join(&pair);
}

/* What a killed process had is free, except what others have mapped. */
static void killed(void)
{
    struct pair pair = pair_fork();
    struct cuda_ipc_handle handle;
    const size_t before = (size_t)1 << 30; /* neither has anything */
    cuda_address a;
    int status;

    start_driver(0);
    if (!pair.peer) {
        allocate(LARGE / 2);
        a = allocate(100);
        WANT(cu.cuMemcpyHtoD_v2(a, "x", 1), CUDA_OK);
        handle = handle_of(a);
        tell(&pair, &handle, sizeof handle);
        pause();
    }
    hear(&pair, &handle, sizeof handle);
    a = open_handle(handle);
    WANT(before - free_memory() >= LARGE / 2, 1);
    kill(pair.peer, SIGKILL);
    waitpid(pair.peer, &status, 0);
    WANT(byte_at(a), 'x');
    WANT(before - free_memory() < 10000, 1);
    WANT(cu.cuIpcCloseMemHandle(a), CUDA_OK);
    WANT(free_memory(), before);
}

/* The owner stays until the peer has come to grief, which the peer reports. */
static void peer_dies(bool while_queued)
{
    struct pair pair = pair_fork();
    struct cuda_ipc_handle handle;
    cuda_address a, own;

    if (!pair.peer) {
        start_driver(0);
        handle = handle_of(allocate(100));
        tell(&pair, &handle, sizeof handle);
        await(&pair);
        _exit(0);
    }
    start_driver(1);
    own = allocate(100);
    hear(&pair, &handle, sizeof handle);
    a = open_handle(handle);
    if (while_queued)
        cu.cuMemcpyDtoDAsync_v2(own, a, 100, NULL);
    WANT(cu.cuIpcCloseMemHandle(a), CUDA_OK);
    if (!while_queued)
        cu.cuMemcpyDtoDAsync_v2(own, a, 100, NULL);
    cu.cuStreamSynchronize(NULL);
}

static void used_after_close(void)
{
    peer_dies(false);
}

static void closed_too_early(void)
{
    peer_dies(true);
}

/* Everybody maps everybody's memory, again and again, while processes come and go. */
static void many(void)
{
    enum { PROCESSES = 6, ROUNDS = 30 };
    struct cuda_ipc_handle *handles;
    pid_t children[PROCESSES];
    int status;

    handles = mmap(NULL, PROCESSES * sizeof *handles, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p])
            continue;
        start_driver(p % 2);
        for (int round = 0; round < ROUNDS; round++) {
            cuda_address a = allocate(5000), b;

            WANT(cu.cuMemsetD8Async(a, (unsigned char)p, 5000, NULL), CUDA_OK);
            handles[p] = handle_of(a);
            /* Another's may be gone, or not there yet. */
            if (cu.cuIpcOpenMemHandle_v2(&b, handles[(p + round) % PROCESSES], 1) == CUDA_OK) {
                WANT(cu.cuMemcpyDtoDAsync_v2(a, b, 5000, NULL), CUDA_OK);
                WANT(cu.cuStreamSynchronize(NULL), CUDA_OK);
                WANT(cu.cuIpcCloseMemHandle(b), CUDA_OK);
            }
            WANT(cu.cuMemFree_v2(a), CUDA_OK);
        }
        if (p == 0)
            raise(SIGKILL);
        _exit(check_failed ? 1 : 0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        waitpid(children[p], &status, 0);
        WANT(p == 0 ? WIFSIGNALED(status) : status == 0, 1);
    }
    start_driver(0);
    WANT(free_memory(), 1 << 30);
}

int main(void)
{
    static const struct check_case cases[] = {
        {.what = "memory is shared", .body = shares},
        {.what = "also with latency", .body = shares, .environment = {"GPUBIND_SIM_LATENCY=300"}},
        {.what = "memory of a device that the peer does not see", .body = shares_unseen},
        {.what = "no peer access", .body = no_peers, .environment = {"GPUBIND_SIM_PEERS=none"}},
        {.what = "handles are refused", .body = refused, .environment = {"GPUBIND_SIM_IPC=refuse"}},
        {.what = "with another result",
         .body = refused_otherwise,
         .environment = {"GPUBIND_SIM_IPC=999"}},
        {.what = "a handle of another job", .body = other_job},
        {.what = "memory freed while a peer maps it", .body = freed_early},
        {.what = "an owner that is killed", .body = killed},
        {.what = "a closed mapping is used",
         .body = used_after_close,
         .dies = "use after free: cuMemcpyDtoDAsync_v2 of 100 bytes"},
        {.what = "a mapping is closed under a copy",
         .body = closed_too_early,
         .environment = {"GPUBIND_SIM_LATENCY=20000"},
         .dies = "that was closed before"},
        {.what = "many processes", .body = many},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
    return tap_done();
}
