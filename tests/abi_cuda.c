/* Does src/cuda/driver_api.h say what cuda.h says? The compiler decides; the
 * program only reports that it was built. */
#include <cuda.h>
#include <stdio.h>

#include "cuda/driver_api.h"

_Static_assert(sizeof(struct cuda_uuid) == sizeof(CUuuid), "cuda_uuid");
_Static_assert(sizeof(CUdevice) == sizeof(int), "CUdevice");
_Static_assert((int)CUDA_OK == (int)CUDA_SUCCESS, "CUDA_OK");
_Static_assert((int)CUDA_NO_DEVICE == (int)CUDA_ERROR_NO_DEVICE, "CUDA_NO_DEVICE");
/* Each call has the arguments of CUDA_FUNCTIONS; sizeof evaluates nothing. */
_Static_assert(sizeof(cuInit(0u)) == sizeof(int), "cuInit");
_Static_assert(sizeof(cuDeviceGetCount((int *)0)) == sizeof(int), "cuDeviceGetCount");
_Static_assert(sizeof(cuDeviceGet((int *)0, 0)) == sizeof(int), "cuDeviceGet");
_Static_assert(sizeof(cuDeviceGetUuid_v2((CUuuid *)0, 0)) == sizeof(int), "cuDeviceGetUuid_v2");
_Static_assert(sizeof(cuDeviceGetPCIBusId((char *)0, 0, 0)) == sizeof(int),
               "cuDeviceGetPCIBusId");

int main(void)
{
    puts("1..1\nok 1 - the driver's entry points are declared as in cuda.h");
    return 0;
}
