/* GPU memory that another process maps by a file descriptor: of cuMemCreate, in multiples of the
 * driver's granularity (2 MiB). */
#ifndef GPUBIND_GPU_CORE_VMM_H
#define GPUBIND_GPU_CORE_VMM_H

#include "gpu/core/gpu_context.h"

/* The driver and the GPU have it. Asks the driver. */
bool vmm_is_possible(const struct gpu *gpu);
/* nbytes or more: *size, at *at, for work of the GPU's device alone. *fd is the caller's to
 * close, and keeps the memory while it is open. 0, or -1 with a sentence. */
int vmm_make(struct gpu *gpu, uint64_t nbytes, gpu_address *at, uint64_t *size, int *fd,
             struct gpubind_error *err);
/* Another process's, size as it was said there, for work of this gpu's device. fd stays
 * open. 0, or -1 with a sentence. */
int vmm_open(struct gpu *gpu, int fd, uint64_t size, gpu_address *at, struct gpubind_error *err);
/* Unmaps memory of either, by its first address; it is freed with its last mapping. false: it is
 * neither. The caller makes sure that no work uses it. */
bool vmm_close(gpu_address at);
/* The GPU that memory made or opened here was meant for; NULL: address is in none. */
struct gpu *vmm_gpu(gpu_address address);

#endif
