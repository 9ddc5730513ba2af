/* The simulated driver's memory of cuMemCreate: made, mapped, made accessible, handed to
 * another process by a file descriptor. */
#include <fcntl.h>
#include <stdio.h>

#include "tests/sim/pair.h"

#define PAGE ((size_t)2 << 20)

static struct cuda_memory_properties properties(int device, int handle_types)
{
    struct cuda_memory_properties wanted = {.type = CUDA_PINNED, .handle_types = handle_types};

    wanted.location = (struct cuda_location){CUDA_LOCATION_DEVICE, device};
    return wanted;
}

static size_t free_memory(void)
{
    size_t free_bytes = 0, total;

    WANT(cu.cuMemGetInfo_v2(&free_bytes, &total), CUDA_OK);
    return free_bytes;
}

static unsigned long long make(int device)
{
    struct cuda_memory_properties wanted = properties(device, CUDA_FILE_DESCRIPTOR);
    unsigned long long handle = 0;

    WANT(cu.cuMemCreate(&handle, 2 * PAGE, &wanted, 0), CUDA_OK);
    return handle;
}

static int give_access(cuda_address at, int device, int flags)
{
    const struct cuda_memory_access access = {{CUDA_LOCATION_DEVICE, device}, flags};

    return cu.cuMemSetAccess(at, 2 * PAGE, &access, 1);
}

static cuda_address map(unsigned long long handle)
{
    cuda_address at = 0;

    WANT(cu.cuMemAddressReserve(&at, 2 * PAGE, 0, 0, 0), CUDA_OK);
    WANT(at % PAGE, 0);
    WANT(cu.cuMemMap(at, 2 * PAGE, 0, handle, 0), CUDA_OK);
    return at;
}

static void unmap(cuda_address at)
{
    WANT(cu.cuMemUnmap(at, 2 * PAGE), CUDA_OK);
    WANT(cu.cuMemAddressFree(at, 2 * PAGE), CUDA_OK);
}

static int export(unsigned long long handle)
{
    int fd = -1;

    WANT(cu.cuMemExportToShareableHandle(&fd, handle, CUDA_FILE_DESCRIPTOR, 0), CUDA_OK);
    return fd;
}

static int import(int fd, unsigned long long *handle)
{
    return cu.cuMemImportFromShareableHandle(handle, (void *)(intptr_t)fd, CUDA_FILE_DESCRIPTOR);
}

/* Is it gone for good when the last mapping goes, and not before? */
static void alone(void)
{
    size_t before, granularity = 0;
    struct cuda_memory_properties wanted = properties(0, CUDA_FILE_DESCRIPTOR);
    unsigned long long handle;
    cuda_address a, b;

    start_driver(0);
    before = free_memory();
    WANT(cu.cuMemGetAllocationGranularity(&granularity, &wanted, CUDA_GRANULARITY_MINIMUM),
         CUDA_OK);
    WANT(granularity, PAGE);
    handle = make(0);
    a = map(handle);
    b = map(handle);
    WANT(give_access(a, 0, CUDA_READ_AND_WRITE), CUDA_OK);
    WANT(give_access(b, 0, CUDA_READ_AND_WRITE), CUDA_OK);
    WANT(cu.cuMemcpyHtoD_v2(a + 2 * PAGE - 1, "x", 1), CUDA_OK);
    WANT(byte_at(b + 2 * PAGE - 1), 'x');
    WANT(cu.cuMemRelease(handle), CUDA_OK);
    WANT(cu.cuMemRelease(handle), CUDA_INVALID_VALUE);
    unmap(a);
    WANT(free_memory(), before - 2 * PAGE);
    WANT(byte_at(b + 2 * PAGE - 1), 'x');
    unmap(b);
    WANT(free_memory(), before);
}

static void pointer(void)
{
    int attributes[] = {CUDA_POINTER_CONTEXT,     CUDA_POINTER_ORDINAL, CUDA_POINTER_MEMORY_TYPE,
                        CUDA_POINTER_IPC_CAPABLE, CUDA_POINTER_START,   CUDA_POINTER_SIZE};
    struct CUctx_st *context = (void *)1;
    unsigned type = 0, capable = 1;
    cuda_address a, start = 0;
    int ordinal = -1;
    size_t size = 0;
    void *values[] = {&context, &ordinal, &type, &capable, &start, &size};
    struct cuda_ipc_handle handle;

    start_driver(0);
    a = map(make(1));
    WANT(cu.cuPointerGetAttributes(6, attributes, values, a + 5), CUDA_OK);
    WANT(context == NULL, 1);
    WANT(ordinal, 1);
    WANT(type, CUDA_MEMORY_DEVICE);
    WANT(capable, 0);
    WANT(start == a, 1);
    WANT(size, 2 * PAGE);
    WANT(cu.cuIpcGetMemHandle(&handle, a), CUDA_INVALID_VALUE);
    WANT(cu.cuMemFree_v2(a), CUDA_INVALID_VALUE);
}

/* Access is by device, and begins with none, whatever peers are enabled. */
static void access_by_device(void)
{
    cuda_address a;
    char byte = 'x';

    start_driver(0);
    a = map(make(1));
    WANT(cu.cuMemcpyHtoD_v2(a, &byte, 1), CUDA_INVALID_VALUE);
    WANT(give_access(a, 0, CUDA_READ_AND_WRITE), CUDA_OK);
    WANT(cu.cuMemcpyHtoD_v2(a, &byte, 1), CUDA_OK);
    WANT(give_access(a, 0, 0), CUDA_OK);
    WANT(cu.cuMemcpyHtoD_v2(a, &byte, 1), CUDA_INVALID_VALUE);
    WANT(give_access(a, 2, CUDA_READ_AND_WRITE), 101);
}

static void other_device(void)
{
    cuda_address a;
    char byte = 'x';

    start_driver(0);
    a = map(make(1));
    WANT(give_access(a, 1, CUDA_READ_AND_WRITE), CUDA_OK);
    cu.cuMemcpyHtoD_v2(a, &byte, 1);
}

static void no_peers(void)
{
    cuda_address a;

    start_driver(0);
    a = map(make(1));
    WANT(give_access(a, 1, CUDA_READ_AND_WRITE), CUDA_OK);
    WANT(give_access(a, 0, CUDA_READ_AND_WRITE), 101);
}

static void refused(void)
{
    struct cuda_memory_properties wanted = properties(0, 0);
    unsigned long long handle = 0, other;
    cuda_address a = 0;
    int fd = 0;

    start_driver(0);
    WANT(cu.cuMemCreate(&handle, PAGE + 1, &wanted, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuMemCreate(&handle, (size_t)2 << 30, &wanted, 0), CUDA_OUT_OF_MEMORY);
    wanted.location.id = 2;
    WANT(cu.cuMemCreate(&handle, PAGE, &wanted, 0), 101);
    wanted.location.id = 0;
    WANT(cu.cuMemCreate(&handle, PAGE, &wanted, 0), CUDA_OK);
    WANT(cu.cuMemExportToShareableHandle(&fd, handle, CUDA_FILE_DESCRIPTOR, 0),
         CUDA_INVALID_VALUE); /* nobody said that it would be exported */
    WANT(cu.cuMemAddressReserve(&a, PAGE + 1, 0, 0, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuMemMap(a, PAGE, 0, handle, 0), CUDA_INVALID_VALUE); /* nothing is reserved */
    WANT(cu.cuMemAddressReserve(&a, 2 * PAGE, 0, 0, 0), CUDA_OK);
    WANT(cu.cuMemMap(a + PAGE, 2 * PAGE, 0, handle, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuMemMap(a + PAGE, PAGE, 0, handle, 0), CUDA_OK);
    WANT(cu.cuMemMap(a + PAGE, PAGE, 0, handle, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuMemUnmap(a, 2 * PAGE), CUDA_INVALID_VALUE);
    WANT(cu.cuMemAddressFree(a, 2 * PAGE), CUDA_INVALID_VALUE); /* it is mapped */
    WANT(cu.cuMemUnmap(a + PAGE, PAGE), CUDA_OK);
    WANT(cu.cuMemAddressFree(a, PAGE), CUDA_INVALID_VALUE);
    WANT(cu.cuMemAddressFree(a, 2 * PAGE), CUDA_OK);
    WANT(cu.cuMemRelease(handle), CUDA_OK);
    WANT(import(fd, &other), CUDA_INVALID_VALUE); /* standard input */
    WANT(import(-1, &other), CUDA_INVALID_VALUE);
}

static void switched_off(void)
{
    struct cuda_memory_properties wanted = properties(0, CUDA_FILE_DESCRIPTOR);
    unsigned long long handle;
    int value = 1;

    start_driver(0);
    WANT(cu.cuDeviceGetAttribute(&value, CUDA_ATTRIBUTE_FILE_DESCRIPTORS, 0), CUDA_OK);
    WANT(value, 0);
    WANT(cu.cuMemCreate(&handle, PAGE, &wanted, 0), CUDA_NOT_SUPPORTED);
}

/* A descriptor as another process has it, by way of /proc. */
static int descriptor_of(pid_t pid, int fd)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The owner lets go first; what was in it stays until the other has. */
static void shared(void)
{
    struct pair pair = pair_fork();
    unsigned long long handle;
    cuda_address a;
    size_t before;
    int fd = -1;

    start_driver(pair.peer ? 0 : 1);
    if (pair.peer) {
        before = free_memory();
        handle = make(0);
        a = map(handle);
        WANT(give_access(a, 0, CUDA_READ_AND_WRITE), CUDA_OK);
        WANT(cu.cuMemcpyHtoD_v2(a + PAGE, "x", 1), CUDA_OK);
        WANT(cu.cuCtxSynchronize(), CUDA_OK);
        fd = export(handle);
        WANT(cu.cuMemRelease(handle), CUDA_OK);
        tell(&pair, &fd, sizeof fd);
        await(&pair);
        WANT(byte_at(a + PAGE), 'y');
        WANT(cu.open_mappings(), 0);
        unmap(a);
        close(fd);
        WANT(free_memory(), before - 2 * PAGE);
        turn(&pair);
        await(&pair);
        WANT(free_memory(), before);
    } else {
        hear(&pair, &fd, sizeof fd);
        fd = descriptor_of(getppid(), fd);
        WANT(import(fd, &handle), CUDA_OK);
        close(fd);
        a = map(handle);
        WANT(cu.cuMemRelease(handle), CUDA_OK);
        WANT(give_access(a, 1, CUDA_READ_AND_WRITE), CUDA_OK);
        WANT(cu.open_mappings(), 1);
        WANT(byte_at(a + PAGE), 'x');
        WANT(cu.cuMemcpyHtoD_v2(a + PAGE, "y", 1), CUDA_OK);
        WANT(cu.cuCtxSynchronize(), CUDA_OK);
        turn(&pair);
        await(&pair);
        WANT(byte_at(a + PAGE), 'y');
        unmap(a);
        WANT(cu.open_mappings(), 0);
        turn(&pair);
    }
    pair_join(&pair);
}

/* What a killed process had is free. */
static void killed(void)
{
    struct pair pair = pair_fork();
    int status;

    start_driver(0);
    if (!pair.peer) {
        map(make(0));
        turn(&pair);
        pause();
    }
    await(&pair);
    WANT(free_memory(), ((size_t)1 << 30) - 2 * PAGE);
    kill(pair.peer, SIGKILL);
    waitpid(pair.peer, &status, 0);
    WANT(free_memory(), (size_t)1 << 30);
}

static void dies(bool while_queued)
{
    cuda_address a, own;

    start_driver(0);
    own = allocate(100);
    a = map(make(0));
    WANT(give_access(a, 0, CUDA_READ_AND_WRITE), CUDA_OK);
    if (while_queued)
        cu.cuMemcpyDtoDAsync_v2(own, a, 100, NULL);
    unmap(a);
    if (!while_queued)
        cu.cuMemcpyDtoDAsync_v2(own, a, 100, NULL);
    cu.cuStreamSynchronize(NULL);
}

static void used_after_unmap(void)
{
    dies(false);
}

static void unmapped_too_early(void)
{
    dies(true);
}

int main(void)
{
    static const struct check_case cases[] = {
        {.what = "memory is there until its last mapping goes", .body = alone},
        {.what = "what the driver says of a pointer", .body = pointer},
        {.what = "access is by device", .body = access_by_device},
        {.what = "a device without access copies",
         .body = other_device,
         .dies = "cuMemcpyHtoD_v2 writes memory that cuMemSetAccess has not opened"},
        {.what = "no access without peer access",
         .body = no_peers,
         .environment = {"GPUBIND_SIM_PEERS=none"}},
        {.what = "what is refused", .body = refused},
        {.what = "switched off", .body = switched_off, .environment = {"GPUBIND_SIM_CUMEM=no"}},
        {.what = "memory is shared, and survives its owner's mapping", .body = shared},
        {.what = "also with latency", .body = shared, .environment = {"GPUBIND_SIM_LATENCY=300"}},
        {.what = "an owner that is killed", .body = killed},
        {.what = "an unmapped address is used",
         .body = used_after_unmap,
         .dies = "use after free: cuMemcpyDtoDAsync_v2 of 100 bytes"},
        {.what = "it is unmapped under a copy",
         .body = unmapped_too_early,
         .environment = {"GPUBIND_SIM_LATENCY=20000"},
         .dies = "that was unmapped before"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
    return tap_done();
}
