#include "gpu/kernel_table.h"

#include "gpu/copy/copy_agent_kernel.h"
#include "gpu/copy/copy_kernel.h"
#include "gpu/copy/iov_copy_kernel.h"
#include "gpu/copy/strided_kernel.h"
#include "gpu/core/kernels.h"
#include "gpu/exchange/exchange_kernel.h"
#include "gpu/exchange/signal_kernel.h"
#include "gpu/kernel_image.h"

static const struct copy_kernel_job no_copy;
static const struct exchange_kernel_job no_exchange;
static const struct deferred_kernel_launch no_deferred;
static const struct strided_kernel_job no_strided = {
    .copy = {.parts = 1, .to_levels = KERNEL_CONTIGUOUS, .from_levels = KERNEL_CONTIGUOUS}};
static const struct iov_kernel_job no_iov = {.word = 1};
static const struct agent_kernel_job no_agent;
static const struct signal_kernel_job no_signal;

static const struct kernel_entry entries[GPU_KERNELS] = {
    [GPU_COPY_KERNEL] = {COPY_KERNEL_NAME, &no_copy},
    [GPU_EXCHANGE_KERNEL] = {EXCHANGE_KERNEL_NAME, &no_exchange},
    [GPU_DEFERRED_KERNEL] = {DEFERRED_KERNEL_NAME, &no_deferred},
    [GPU_STRIDED_KERNEL] = {STRIDED_KERNEL_NAME, &no_strided},
    [GPU_IOV_KERNEL] = {IOV_KERNEL_NAME, &no_iov},
    [GPU_AGENT_KERNEL] = {AGENT_KERNEL_NAME, &no_agent},
    [GPU_SIGNAL_KERNEL] = {SIGNAL_KERNEL_NAME, &no_signal},
};

void kernel_table_register(void)
{
    kernels_register(kernel_image, entries);
}
