/* All kernels of the library, in one image; each file uses functions of those before it. */
#include "gpu/copy/copy_kernel.cu"
#include "gpu/copy/strided_kernel.cu"
#include "gpu/copy/iov_copy_kernel.cu"
#include "gpu/copy/copy_agent_kernel.cu"
#include "gpu/exchange/exchange_kernel.cu"
#include "gpu/exchange/signal_kernel.cu"
#include "gpu/reduce/reduce_kernel.cu"
