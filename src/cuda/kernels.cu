/* All kernels of the library, in one image. */
#include "cuda/copy_kernel.cu"
#include "cuda/exchange_kernel.cu"
#include "cuda/gather_kernel.cu"
#include "cuda/agent_kernel.cu"
