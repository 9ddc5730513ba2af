/* The simulated driver: devices, contexts, memory, pointers, failures. */
#include "tests/sim/check.h"

static void devices(void)
{
    struct cuda_uuid uuid[2], again;
    char pci[2][32];
    int count = 0, value = 0;
    size_t nbytes = 0;

    load_driver();
    WANT(cu.cuDeviceGetCount(&count), 3); /* not initialised */
    WANT(cu.cuInit(1), CUDA_INVALID_VALUE);
    WANT(cu.cuInit(0), CUDA_OK);
    WANT(cu.cuInit(0), CUDA_OK);
    WANT(cu.cuDeviceGetCount(&count), CUDA_OK);
    WANT(count, 2);
    for (int d = 0; d < 2; d++) {
        WANT(cu.cuDeviceGetUuid_v2(&uuid[d], d), CUDA_OK);
        WANT(uuid[d].bytes[0], 0x11 * (d + 1));
        WANT(cu.cuDeviceGetPCIBusId(pci[d], sizeof pci[d], d), CUDA_OK);
    }
    WANT(cu.cuDeviceGetUuid_v2(&again, 0), CUDA_OK);
    WANT(memcmp(&again, &uuid[0], sizeof again), 0);
    WANT(strcmp(pci[0], "0000:0B:00.0"), 0);
    WANT(strcmp(pci[1], pci[0]) != 0, 1);
    WANT(cu.cuDeviceGetPCIBusId(pci[0], 5, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuDeviceGet(&value, 2), 101);
    WANT(cu.cuDeviceTotalMem_v2(&nbytes, 1), CUDA_OK);
    WANT(nbytes, 1 << 30);
    WANT(cu.cuDeviceGetAttribute(&value, CUDA_ATTRIBUTE_UNIFIED_ADDRESSING, 0), CUDA_OK);
    WANT(value, 1);
    WANT(cu.calls("cuDeviceGetCount"), 2);
    WANT(cu.calls("cuNothing"), -1);
}

/* The first digit of the UUIDs that are seen under value, in their order. */
static void sees(const char *value, const char *wanted)
{
    struct cuda_uuid uuid;
    char got[20] = "";
    int count = 0, status;
    pid_t child = fork(); /* it is read once in a process */

    if (child) {
        waitpid(child, &status, 0);
        check_want(status, 0, value, __LINE__);
        return;
    }
    setenv("CUDA_VISIBLE_DEVICES", value, 1);
    load_driver();
    WANT(cu.cuInit(0), *wanted ? CUDA_OK : CUDA_NO_DEVICE);
    if (*wanted)
        WANT(cu.cuDeviceGetCount(&count), CUDA_OK);
    for (int d = 0; d < count; d++) {
        WANT(cu.cuDeviceGetUuid_v2(&uuid, d), CUDA_OK);
        got[d] = (char)('0' + uuid.bytes[0] % 16);
    }
    WANT(strcmp(got, wanted), 0);
    _exit(check_failed);
}

static void visible(void)
{
    sees("", "");
    sees("1", "2");
    sees("2,0", "31");
    sees("0,7,1", "1");
    sees("0,-1,1", "1");
    sees("-1", "");
    sees("0,0", "");
    sees("GPU-2222,GPU-1", "21");
    sees("GPU-3,0", "3");
    sees("0,GPU-3", "1");
    sees("GPU-", "");
    sees("NoDevFiles", "");
}

/* What device 0, 1, 2 reaches, as rows. */
static void peer_rows(const char *wanted)
{
    struct CUctx_st *first = start_driver(0), *other;
    int value = -1;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int can = -1;

            WANT(cu.cuDeviceCanAccessPeer(&can, i, j), CUDA_OK);
            check_want(can, wanted[4 * i + j] - '0', wanted, __LINE__);
        }
    WANT(cu.cuCtxEnablePeerAccess(first, 0), 217);
    for (int d = 1; d < 3; d++) {
        bool can = wanted[d] == '1';

        WANT(cu.cuDevicePrimaryCtxRetain(&other, d), CUDA_OK);
        WANT(cu.cuCtxEnablePeerAccess(other, 0), can ? CUDA_OK : 217);
        WANT(cu.cuCtxEnablePeerAccess(other, 0), can ? CUDA_PEER_ALREADY_ENABLED : 217);
        WANT(cu.cuCtxDisablePeerAccess(other), can ? CUDA_OK : CUDA_PEER_NOT_ENABLED);
        WANT(cu.cuCtxDisablePeerAccess(other), CUDA_PEER_NOT_ENABLED);
        WANT(cu.cuDeviceGetP2PAttribute(&value, CUDA_PAIR_ATOMICS, 0, d), CUDA_OK);
        WANT(value, can);
        WANT(cu.cuDeviceGetP2PAttribute(&value, CUDA_PAIR_RANK, d, d), 101);
    }
}

static void peers_all(void)
{
    peer_rows("011/101/110");
}

static void peers_none(void)
{
    peer_rows("000/000/000");
}

static void peers_rows(void)
{
    peer_rows("010/100/000");
}

static void contexts(void)
{
    struct CUctx_st *first = NULL, *again = NULL, *own = NULL, *popped = NULL;
    struct CUstream_st *stream;
    cuda_address address;
    unsigned flags;
    int active = -1, device = -1;

    load_driver();
    WANT(cu.cuInit(0), CUDA_OK);
    WANT(cu.cuMemAlloc_v2(&address, 8), 201);
    WANT(cu.cuStreamCreate(&stream, 0), 201);
    WANT(cu.cuStreamQuery(NULL), 201);
    WANT(cu.cuCtxPopCurrent_v2(&popped), 201);
    WANT(cu.cuDevicePrimaryCtxGetState(1, &flags, &active), CUDA_OK);
    WANT(active, 0);
    WANT(cu.cuDevicePrimaryCtxRetain(&first, 1), CUDA_OK);
    WANT(cu.cuDevicePrimaryCtxRetain(&again, 1), CUDA_OK);
    WANT(first == again, 1);
    WANT(cu.cuDevicePrimaryCtxGetState(1, &flags, &active), CUDA_OK);
    WANT(active, 1);
    WANT(cu.cuCtxPushCurrent_v2(first), CUDA_OK);
    WANT(cu.cuCtxCreate_v2(&own, 0, 0), CUDA_OK);
    WANT(cu.cuCtxGetDevice(&device), CUDA_OK);
    WANT(device, 0);
    WANT(cu.cuCtxDestroy_v2(first), 201); /* a primary one */
    WANT(cu.cuCtxDestroy_v2(own), CUDA_OK);
    WANT(cu.cuCtxGetCurrent(&popped), CUDA_OK);
    WANT(popped == first, 1);
    WANT(cu.cuMemAlloc_v2(&address, 8), CUDA_OK);
    WANT(cu.cuDevicePrimaryCtxRelease_v2(1), CUDA_OK);
    WANT(cu.cuStreamQuery(NULL), CUDA_OK);
    WANT(cu.cuDevicePrimaryCtxRelease_v2(1), CUDA_OK);
    WANT(cu.cuDevicePrimaryCtxRelease_v2(1), 201);
    WANT(cu.cuStreamQuery(NULL), 709);
    WANT(cu.cuMemFree_v2(address), CUDA_INVALID_VALUE); /* it went with the context */
}

static void forked(void)
{
    int status;
    pid_t child;

    start_driver(0);
    child = fork();
    if (child == 0)
        _exit(cu.cuCtxSynchronize());
    waitpid(child, &status, 0);
    WANT(WEXITSTATUS(status), 3);
}

static void memory(void)
{
    cuda_address a, b, again;
    size_t before, after, total;
    char text[300] = "what the device holds", got[300] = "";

    start_driver(0);
    WANT(cu.cuMemGetInfo_v2(&before, &total), CUDA_OK);
    WANT(before, total);
    WANT(cu.cuMemAlloc_v2(&a, 0), CUDA_INVALID_VALUE);
    a = allocate(1000);
    b = allocate(1000);
    WANT(a != b, 1);
    WANT(cu.cuMemcpyHtoD_v2(a + 700, text, 300), CUDA_OK);
    WANT(cu.cuMemcpyDtoH_v2(got, a + 700, 300), CUDA_OK);
    WANT(memcmp(got, text, 300), 0);
    WANT(cu.cuMemcpyHtoD_v2(a + 701, text, 300), CUDA_INVALID_VALUE);
    WANT(cu.cuMemFree_v2(a + 1), CUDA_INVALID_VALUE);
    WANT(cu.cuMemFree_v2(a), CUDA_OK);
    WANT(cu.cuMemFree_v2(0), CUDA_OK);
    again = allocate(1000);
    WANT(again == a, 1);
    WANT(byte_at(again + 700), 0); /* other memory */
    WANT(cu.cuMemGetInfo_v2(&after, &total), CUDA_OK);
    WANT(before - after >= 2000, 1);
    WANT(cu.cuMemAlloc_v2(&a, total), CUDA_OUT_OF_MEMORY);
    WANT(cu.cuMemAlloc_v2(&a, (size_t)-1), CUDA_OUT_OF_MEMORY);
    for (int i = 0; i < 100; i++) { /* ten times the device's memory */
        a = allocate(total / 10);
        WANT(cu.cuMemFree_v2(a), CUDA_OK);
    }
}

static void touch(void)
{
    volatile char *bytes;
    pid_t child;
    int status;

    start_driver(0);
    bytes = (volatile char *)(uintptr_t)allocate(100);
    child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
        _exit(bytes[0]);
    }
    waitpid(child, &status, 0);
    WANT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, 1);
}

struct attributes {
    void *context;
    unsigned type, managed, exportable;
    int ordinal;
    unsigned long long id, handles;
    cuda_address start;
    size_t nbytes;
};

static struct attributes read_all(cuda_address address)
{
    struct attributes a;
    int which[] = {CUDA_POINTER_CONTEXT,    CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_BUFFER_ID,
                   CUDA_POINTER_IS_MANAGED, CUDA_POINTER_ORDINAL,     CUDA_POINTER_IPC_CAPABLE,
                   CUDA_POINTER_START,      CUDA_POINTER_SIZE,        CUDA_POINTER_HANDLE_TYPES};
    void *data[] = {&a.context,    &a.type,  &a.id,     &a.managed, &a.ordinal,
                    &a.exportable, &a.start, &a.nbytes, &a.handles};

    memset(&a, 0xaa, sizeof a);
    WANT(cu.cuPointerGetAttributes(9, which, data, address), CUDA_OK);
    return a;
}

static void pointers(void)
{
    struct CUctx_st *context = start_driver(1), *none;
    cuda_address device = allocate(1000), pool, managed;
    char *page_locked = locked(1000, 0), pageable[100];
    struct attributes a = read_all(device + 999);
    unsigned long long id = a.id;

    WANT(a.context == context && a.type == CUDA_MEMORY_DEVICE && a.ordinal == 1, 1);
    WANT(a.start == device && a.nbytes == 1000 && a.exportable == 1 && !a.managed, 1);
    WANT(read_all(device + 1000).type, 0);
    WANT(cu.cuMemFree_v2(device), CUDA_OK);
    WANT(read_all(device).type, 0);
    WANT(allocate(1000) == device, 1);
    WANT(read_all(device).id != id, 1);
    a = read_all(host(pageable));
    WANT(!a.context && !a.type && !a.id && !a.managed && !a.exportable && !a.handles, 1);
    WANT(a.ordinal, -2);
    a = read_all(host(page_locked));
    WANT(a.type == CUDA_MEMORY_HOST && a.ordinal == 1 && !a.exportable && a.nbytes == 1000, 1);
    WANT(cu.cuMemAllocAsync(&pool, 1000, NULL), CUDA_OK);
    a = read_all(pool);
    WANT(a.type == CUDA_MEMORY_DEVICE && !a.exportable && !a.context && a.ordinal == 1, 1);
    WANT(cu.cuMemAllocManaged(&managed, 1000, 1), CUDA_OK);
    a = read_all(managed);
    WANT(a.type == CUDA_MEMORY_DEVICE && a.managed == 1 && !a.exportable, 1);
    *(char *)(uintptr_t)managed = 'm';
    WANT(byte_at(managed), 'm');
    WANT(cu.cuCtxPopCurrent_v2(&none), CUDA_OK);
    WANT(read_all(device).type, CUDA_MEMORY_DEVICE);
}

static void registered(void)
{
    char *pages = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cuda_address device;

    start_driver(0);
    device = allocate(65536);
    WANT(cu.cuMemHostRegister_v2(pages + 100, 8192, CUDA_REGISTER_PORTABLE), CUDA_OK);
    WANT(cu.cuMemHostRegister_v2(pages + 100, 8192, 0), CUDA_ALREADY_REGISTERED);
    WANT(cu.cuMemHostRegister_v2(pages + 4096, 16384, 0), CUDA_ALREADY_REGISTERED);
    WANT(cu.cuMemHostRegister_v2(pages + 8292, 100, 0), CUDA_OK);
    WANT(cu.cuMemHostRegister_v2(pages + 40000, 0, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuMemHostRegister_v2((void *)4096, 4096, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuMemHostRegister_v2((void *)(uintptr_t)device, 4096, 0), CUDA_INVALID_VALUE);
    WANT(read_all(host(pages + 100)).start == host(pages + 100), 1);
    WANT(read_all(host(pages)).type, 0);
    WANT(cu.cuMemcpyHtoD_v2(device, pages + 100, 8193), CUDA_INVALID_VALUE);
    WANT(cu.cuMemcpyHtoD_v2(device, pages + 40000, 8193), CUDA_OK);
    WANT(cu.cuMemHostUnregister(pages + 200), CUDA_INVALID_VALUE);
    WANT(cu.cuMemHostUnregister(pages + 50000), 713);
    WANT(cu.cuMemHostUnregister(pages + 100), CUDA_OK);
    WANT(cu.cuMemHostUnregister(pages + 100), 713);
}

static void opens(void)
{
    cuda_address device;

    start_driver(0);
    device = allocate(10000);
    *(char *)(uintptr_t)(device + 9999) = 'o';
    WANT(byte_at(device + 9999), 'o');
    WANT(cu.cuMemFree_v2(device), CUDA_OK);
    WANT(allocate(10000) == device && *(char *)(uintptr_t)device == byte_at(device), 1);
}

static void fails(void)
{
    cuda_address a, b;

    start_driver(0);
    a = allocate(8);
    b = allocate(8);
    WANT(cu.cuMemAlloc_v2(&a, 8), CUDA_OUT_OF_MEMORY);
    b = allocate(8);
    WANT(cu.cuMemcpyHtoD_v2(a, "12345678", 8), CUDA_OK);
    WANT(cu.cuMemcpyDtoDAsync_v2(b, a, 8, NULL), CUDA_OK);
    WANT(cu.cuMemcpyDtoDAsync_v2(b, a, 8, NULL), 999);
    WANT(cu.cuMemcpyDtoDAsync_v2(b, a, 8, NULL), 999);
    WANT(cu.calls("cuMemAlloc_v2"), 4);
}

static void fails_late(void)
{
    struct CUstream_st *stream;
    struct CUevent_st *event;
    cuda_address a, b;

    start_driver(0);
    a = allocate(8);
    b = allocate(8);
    WANT(cu.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK);
    WANT(cu.cuEventCreate(&event, CUDA_EVENT_NO_TIMING), CUDA_OK);
    WANT(cu.cuMemcpyHtoD_v2(a, "1", 1), CUDA_OK);
    WANT(cu.cuMemcpyDtoDAsync_v2(b, a, 8, stream), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), 700);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(byte_at(b), 0);
    WANT(cu.cuMemcpyDtoDAsync_v2(b, a, 8, stream), CUDA_OK);
    WANT(cu.cuEventRecord(event, stream), CUDA_OK);
    WANT(cu.cuEventQuery(event), 999);
    WANT(cu.cuEventQuery(event), CUDA_OK);
    WANT(cu.cuStreamQuery(stream), CUDA_OK);
    WANT(cu.cuMemcpyDtoDAsync_v2(b, a, 8, stream), CUDA_OK);
    WANT(cu.cuStreamQuery(stream), CUDA_OK);
    WANT(byte_at(b), '1');
}

static void only_starts(void)
{
    start_driver(0);
}

#define MATRIX "GPUBIND_SIM_DEVICES=3"

int main(void)
{
    static const struct check_case cases[] = {
        {.what = "devices have names", .body = devices},
        {.what = "CUDA_VISIBLE_DEVICES", .body = visible, .environment = {MATRIX}},
        {.what = "peers: all", .body = peers_all, .environment = {MATRIX}},
        {"peers: none", peers_none, {MATRIX, "GPUBIND_SIM_PEERS=none"}, NULL},
        {"peers: rows", peers_rows, {MATRIX, "GPUBIND_SIM_PEERS=010/100/000"}, NULL},
        {"peers: not as many rows", only_starts, {"GPUBIND_SIM_PEERS=011/101/110"}, "2 rows"},
        {.what = "no devices",
         .body = only_starts,
         .environment = {"GPUBIND_SIM_DEVICES=16"},
         .dies = "not a number up to 15"},
        {.what = "contexts", .body = contexts},
        {.what = "a child of fork has no driver", .body = forked},
        {.what = "memory", .body = memory},
        {.what = "the host cannot touch device memory", .body = touch},
        {.what = "unless asked to", .body = opens, .environment = {"GPUBIND_SIM_OPEN=1"}},
        {.what = "attributes of pointers", .body = pointers},
        {.what = "registered host memory", .body = registered},
        {.what = "calls fail on demand",
         .body = fails,
         .environment = {"GPUBIND_SIM_FAIL=cuMemAlloc_v2:3=2,cuMemcpyDtoDAsync_v2:2+=999"}},
        {"work fails on demand",
         fails_late,
         {"GPUBIND_SIM_FAIL=cuMemcpyDtoDAsync_v2:1=700late,cuMemcpyDtoDAsync_v2:2=999late",
          "GPUBIND_SIM_RANK=3", "PMI_RANK=3"},
         NULL},
        {"another rank fails",
         only_starts,
         {"GPUBIND_SIM_FAIL=cuInit:1=999", "GPUBIND_SIM_RANK=3", "PMI_RANK=2"},
         NULL},
        {.what = "a failure of an unknown function",
         .body = only_starts,
         .environment = {"GPUBIND_SIM_FAIL=cuMemAlloc:1=2"},
         .dies = "is not FUNCTION"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
    return tap_done();
}
