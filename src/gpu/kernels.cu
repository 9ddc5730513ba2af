/* All kernels of the library, in one image. */
#include "gpu/copy/copy_kernel.cu"
#include "gpu/exchange/exchange_kernel.cu"
#include "gpu/copy/iov_copy_kernel.cu"
#include "gpu/copy/copy_agent_kernel.cu"
