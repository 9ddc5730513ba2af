#include "tests/mpi/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpubind.h"

#define BUSY_NANOSECONDS 30000000

struct cuda_driver cuda;
int gpu_count;
static struct CUstream_st *copies; /* waits for no other stream */

/* clang-format off */
static const char *const names[MEMORY_KINDS] = {
    "host memory", "GPU memory", "gpubind_alloc's memory", "pool memory",
    "managed memory", "page-locked memory", "registered memory", "VMM memory",
    "exportable VMM memory",
};
/* clang-format on */

const char *memory_name(enum memory kind)
{
    return names[kind];
}

/* The tests' own use of the driver must work: there is nothing to test without. */
static void must(int status, const char *what)
{
    if (status == CUDA_OK)
        return;
    fprintf(stderr, "the test's own %s failed: CUDA error %d\n", what, status);
    abort();
}

static bool lost;

static bool may_have_gpu(void)
{
    const char *role = getenv("GPUBIND_ROLE");

    return !role || strcmp(role, "gpu") == 0;
}

static bool open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return false;
/* POSIX lets dlsym's result stand for a function. */
#define X(name, arguments) *(void **)&cuda.name = dlsym(library, #name);
    CUDA_FUNCTIONS(X)
    GPU_TEST_FUNCTIONS(X)
#undef X
    return cuda.cuInit && cuda.cuInit(0) == CUDA_OK;
}

int gpu_use(int device)
{
    struct CUctx_st *context;
    int status = cuda.cuDevicePrimaryCtxRetain(&context, device);

    return status == CUDA_OK ? cuda.cuCtxSetCurrent(context) : status;
}

static void use_anew(int device)
{
    must(gpu_use(device), "cuCtxSetCurrent");
    must(cuda.cuStreamCreate(&copies, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
}

void gpu_reset(int device)
{
    must(cuda.cuDevicePrimaryCtxReset_v2(device), "cuDevicePrimaryCtxReset");
    use_anew(device);
}

struct CUctx_st *gpu_make_context(int device)
{
    struct CUctx_st *context = NULL;

    must(cuda.cuCtxCreate_v2(&context, 0, device), "cuCtxCreate");
    must(cuda.cuStreamCreate(&copies, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
    return context;
}

void gpu_end_context(struct CUctx_st *context, int device)
{
    must(cuda.cuCtxDestroy_v2(context), "cuCtxDestroy");
    use_anew(device);
}

void gpu_start(int local)
{
    const char *wanted = getenv("TEST_DEVICE");
    int device;

    gpu_count = 0;
    if (!may_have_gpu() || !open_driver())
        return;
    must(cuda.cuDeviceGetCount(&gpu_count), "cuDeviceGetCount");
    if (!gpu_count)
        return;
    must(cuda.cuDeviceGet(&device, (wanted ? atoi(wanted) : local) % gpu_count), "cuDeviceGet");
    must(gpu_use(device), "cuCtxSetCurrent");
    must(cuda.cuStreamCreate(&copies, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
}

void gpu_is_lost_to_test(void)
{
    lost = true;
}

void gpu_end(void)
{
    if (gpu_count && !lost)
        must(cuda.cuStreamDestroy_v2(copies), "cuStreamDestroy");
}

bool gpu_owns(const void *at)
{
    unsigned type = 0;
    int attribute = CUDA_POINTER_MEMORY_TYPE, status = CUDA_INVALID_VALUE;
    void *value = &type;

    for (int attempt = 0; gpu_count && status != CUDA_OK && attempt < 3; attempt++)
        status = cuda.cuPointerGetAttributes(1, &attribute, &value, (cuda_address)(uintptr_t)at);
    return status == CUDA_OK && type == CUDA_MEMORY_DEVICE;
}

/* Where a test makes calls fail, this one may be hit as well: it is made again. */
static void copy(void *to, const void *from, size_t nbytes)
{
    cuda_address there = (cuda_address)(uintptr_t)to, here = (cuda_address)(uintptr_t)from;
    int status = CUDA_OK;

    if (!nbytes)
        return;
    if (!gpu_owns(to) && !gpu_owns(from)) {
        memcpy(to, from, nbytes);
        return;
    }
    for (int attempt = 0; attempt < 3; attempt++) {
        status = cuda.cuMemcpyAsync(there, here, nbytes, copies);
        if (status == CUDA_OK)
            status = cuda.cuStreamSynchronize(copies);
        if (status == CUDA_OK)
            return;
    }
    must(status, "cuMemcpyAsync");
}

void gpu_put(void *to, const void *from_host, size_t nbytes)
{
    copy(to, from_host, nbytes);
}

void gpu_get(void *to_host, const void *from, size_t nbytes)
{
    copy(to_host, from, nbytes);
}

static void sleep_a_while(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, BUSY_NANOSECONDS}, NULL);
}

void gpu_keep_busy(struct CUstream_st *stream)
{
    must(cuda.cuLaunchHostFunc(stream, sleep_a_while, NULL), "cuLaunchHostFunc");
}

void bytes_of_seed(char *bytes, size_t nbytes, uint64_t seed)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 0x1234567u;

    for (size_t at = 0; at < nbytes; at += sizeof state) {
        uint64_t word = state += 0x9E3779B97F4A7C15u;

        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
        word ^= word >> 27;
        memcpy(bytes + at, &word, nbytes - at < sizeof word ? nbytes - at : sizeof word);
    }
}

/* NULL where there is none. */
static void *allocate(enum memory kind, size_t nbytes)
{
    cuda_address address = 0;
    void *at = NULL;

    switch (kind) {
    case MEMORY_DEVICE:
        must(cuda.cuMemAlloc_v2(&address, nbytes), "cuMemAlloc");
        break;
    case MEMORY_OURS:
        if (gpubind_alloc(&at, nbytes) != MPI_SUCCESS)
            fprintf(stderr, "gpubind_alloc: %s\n", gpubind_error_text());
        return at;
    case MEMORY_POOL:
        if (!cuda.cuMemAllocAsync || cuda.cuMemAllocAsync(&address, nbytes, copies) != CUDA_OK)
            return NULL;
        must(cuda.cuStreamSynchronize(copies), "cuMemAllocAsync");
        break;
    case MEMORY_MANAGED:
        if (!cuda.cuMemAllocManaged || cuda.cuMemAllocManaged(&address, nbytes, 1) != CUDA_OK)
            return NULL;
        break;
    case MEMORY_PINNED:
        if (!cuda.cuMemHostAlloc || cuda.cuMemHostAlloc(&at, nbytes, 0) != CUDA_OK)
            return NULL;
        return at;
    case MEMORY_REGISTERED:
        if (posix_memalign(&at, 4096, nbytes) != 0)
            return NULL;
        must(cuda.cuMemHostRegister_v2(at, nbytes, CUDA_REGISTER_PORTABLE), "cuMemHostRegister");
        return at;
    case MEMORY_VMM:
    case MEMORY_EXPORTABLE:
        return vmm_make(nbytes, kind == MEMORY_EXPORTABLE);
    default:
        return malloc(nbytes);
    }
    return (void *)(uintptr_t)address;
}

int buffer_make(struct buffer *buffer, enum memory kind, size_t nbytes)
{
    *buffer = (struct buffer){NULL, nbytes, gpu_count ? kind : MEMORY_HOST};
    buffer->at = allocate(buffer->kind, nbytes + BUFFER_GUARD);
    if (!buffer->at)
        return -1;
    buffer_reset(buffer);
    return 0;
}

void buffer_clear(struct buffer *buffer)
{
    if (!buffer->at)
        return;
    switch (buffer->kind) {
    case MEMORY_DEVICE:
    case MEMORY_MANAGED:
        must(cuda.cuMemFree_v2((cuda_address)(uintptr_t)buffer->at), "cuMemFree");
        break;
    case MEMORY_OURS:
        must(gpubind_free(buffer->at), "gpubind_free");
        break;
    case MEMORY_POOL:
        must(cuda.cuMemFreeAsync((cuda_address)(uintptr_t)buffer->at, copies), "cuMemFreeAsync");
        must(cuda.cuStreamSynchronize(copies), "cuMemFreeAsync");
        break;
    case MEMORY_VMM:
    case MEMORY_EXPORTABLE:
        vmm_clear(buffer->at, buffer->nbytes + BUFFER_GUARD);
        break;
    case MEMORY_PINNED:
        must(cuda.cuMemFreeHost(buffer->at), "cuMemFreeHost");
        break;
    case MEMORY_REGISTERED:
        must(cuda.cuMemHostUnregister(buffer->at), "cuMemHostUnregister");
        free(buffer->at);
        break;
    default:
        free(buffer->at);
    }
    buffer->at = NULL;
}

/* A host copy of part of a buffer, or of what shall be put there. */
static char *scratch_of(size_t nbytes)
{
    char *scratch = malloc(nbytes + 1);

    if (!scratch)
        abort();
    return scratch;
}

/* A copy reaches memory of a GPU without peer access, which cuMemsetD8Async refuses. */
void buffer_reset(const struct buffer *buffer)
{
    size_t nbytes = buffer->nbytes + BUFFER_GUARD;
    int status = CUDA_INVALID_VALUE;
    char *untouched;

    if (gpu_owns(buffer->at))
        status = cuda.cuMemsetD8Async((cuda_address)(uintptr_t)buffer->at, BUFFER_UNTOUCHED, nbytes,
                                      copies);
    if (status != CUDA_INVALID_VALUE) {
        must(status, "cuMemsetD8Async");
        must(cuda.cuStreamSynchronize(copies), "cuStreamSynchronize");
        return;
    }
    untouched = scratch_of(nbytes);
    memset(untouched, BUFFER_UNTOUCHED, nbytes);
    copy(buffer->at, untouched, nbytes);
    free(untouched);
}

void buffer_fill(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed)
{
    char *scratch = scratch_of(nbytes);

    bytes_of_seed(scratch, nbytes, seed);
    gpu_put(buffer->at + offset, scratch, nbytes);
    free(scratch);
}

bool buffer_holds(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed,
                  size_t *differs)
{
    char *wanted = scratch_of(nbytes), *got = scratch_of(nbytes);
    size_t at = 0;

    bytes_of_seed(wanted, nbytes, seed);
    gpu_get(got, buffer->at + offset, nbytes);
    if (memcmp(wanted, got, nbytes) == 0)
        at = nbytes;
    while (at < nbytes && wanted[at] == got[at])
        at++;
    free(wanted);
    free(got);
    if (differs)
        *differs = at;
    return at == nbytes;
}

bool buffer_untouched(const struct buffer *buffer, size_t offset)
{
    size_t nbytes = buffer->nbytes + BUFFER_GUARD - offset;
    char *got = scratch_of(nbytes);
    bool untouched;

    gpu_get(got, buffer->at + offset, nbytes);
    /* Each byte is as the one before: memcmp has vector instructions. */
    untouched = got[0] == (char)BUFFER_UNTOUCHED && !memcmp(got, got + 1, nbytes - 1);
    free(got);
    return untouched;
}

void *simulator_function(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    return driver ? dlsym(driver, name) : NULL;
}

bool gpu_is_simulated(void)
{
    return simulator_function("gpubind_sim_open_mappings");
}
