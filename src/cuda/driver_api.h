/* The part of the driver API that gpubind calls, declared here because the
 * toolkit's header is not needed to build. tests/abi_cuda.c compares it with
 * cuda.h where that is installed. */
#ifndef GPUBIND_CUDA_DRIVER_API_H
#define GPUBIND_CUDA_DRIVER_API_H

enum { CUDA_OK = 0, CUDA_NO_DEVICE = 100 };

struct cuda_uuid {
    char bytes[16];
};

/* name, arguments; all return 0 on success */
#define CUDA_FUNCTIONS(X)                                  \
    X(cuInit, (unsigned))                                  \
    X(cuDeviceGetCount, (int *))                           \
    X(cuDeviceGet, (int *, int))                           \
    X(cuDeviceGetUuid_v2, (struct cuda_uuid *, int))       \
    X(cuDeviceGetPCIBusId, (char *, int, int))

#endif
