/* GPU memory for the examples: a few calls of the CUDA driver, opened at run time, so
 * that no toolkit is needed to build them. Where a code has cudaMalloc, cudaFree and
 * cudaMemcpy, the examples have device_alloc, device_free, device_write and
 * device_read. A call that fails ends the program. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static inline void *device_call(const char *name)
{
    static void *driver;
    void *call;

    if (!driver)
        driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    call = driver ? dlsym(driver, name) : NULL;
    if (!call) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return call;
}

static inline void device_check(int result, const char *name)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s: error %d of CUDA\n", name, result);
    exit(1);
}

/* The GPU that gpubind gave to the rank, wherever it stands among those that the rank
 * sees; the first, where gpubind did not say. Its PCI address goes to pci. */
static inline int device_number(char pci[32])
{
    int (*get_count)(int *), (*get_pci)(char *, int, int);
    const char *wanted = getenv("GPUBIND_GPU_PCI");
    int count = 0, found = 0;

    *(void **)&get_count = device_call("cuDeviceGetCount");
    *(void **)&get_pci = device_call("cuDeviceGetPCIBusId");
    device_check(get_count(&count), "cuDeviceGetCount");
    for (int i = 0; i < count; i++) {
        device_check(get_pci(pci, 32, i), "cuDeviceGetPCIBusId");
        if (wanted && strncasecmp(wanted, pci, strlen(pci)) == 0)
            found = i;
    }
    device_check(get_pci(pci, 32, found), "cuDeviceGetPCIBusId");
    return found;
}

/* Takes that GPU. Before all others. */
static inline void device_start(void)
{
    int (*init)(unsigned), (*retain)(void **, int), (*set_current)(void *);
    void *context;
    char pci[32];

    *(void **)&init = device_call("cuInit");
    *(void **)&retain = device_call("cuDevicePrimaryCtxRetain");
    *(void **)&set_current = device_call("cuCtxSetCurrent");
    device_check(init(0), "cuInit");
    device_check(retain(&context, device_number(pci)), "cuDevicePrimaryCtxRetain");
    device_check(set_current(context), "cuCtxSetCurrent");
}

static inline void *device_alloc(size_t nbytes)
{
    int (*alloc)(void **, size_t);
    void *memory;

    *(void **)&alloc = device_call("cuMemAlloc_v2");
    device_check(alloc(&memory, nbytes), "cuMemAlloc");
    return memory;
}

static inline void device_free(void *memory)
{
    int (*release)(void *);

    *(void **)&release = device_call("cuMemFree_v2");
    device_check(release(memory), "cuMemFree");
}

/* Host to device. */
static inline void device_write(void *to, const void *from, size_t nbytes)
{
    int (*copy)(void *, const void *, size_t);

    *(void **)&copy = device_call("cuMemcpyHtoD_v2");
    device_check(copy(to, from, nbytes), "cuMemcpyHtoD");
}

/* Device to host. */
static inline void device_read(void *to, const void *from, size_t nbytes)
{
    int (*copy)(void *, const void *, size_t);

    *(void **)&copy = device_call("cuMemcpyDtoH_v2");
    device_check(copy(to, from, nbytes), "cuMemcpyDtoH");
}

/* A stream that does not block. */
static inline struct CUstream_st *device_stream(void)
{
    int (*create)(struct CUstream_st **, unsigned);
    struct CUstream_st *stream;

    *(void **)&create = device_call("cuStreamCreate");
    device_check(create(&stream, 1), "cuStreamCreate");
    return stream;
}

static inline void device_wait(struct CUstream_st *stream)
{
    int (*wait)(struct CUstream_st *);

    *(void **)&wait = device_call("cuStreamSynchronize");
    device_check(wait(stream), "cuStreamSynchronize");
}
