/* Slots in GPU memory to which kernels of other processes' GPUs write messages: a flag, which says that the data
 * are there, and the data. Waiting for a flag there, a GPU sees it sooner than one in host memory. */
#ifndef GPUBIND_GPU_EXCHANGE_GPU_SLOTS_H
#define GPUBIND_GPU_EXCHANGE_GPU_SLOTS_H

#include "gpu/core/mem_query.h"
#include "gpu/exchange/signal_kernel.h"

#define GPU_SLOT_SMALL 1984        /* bytes of data of the smallest, */
#define GPU_SLOT_LARGEST (1 << 20) /* and of the largest */

struct gpu_slot_arena;

struct gpu_slot {
    struct gpu_slot_arena *arena; /* NULL: none */
    gpu_address at; /* its flag, a word; data SIGNAL_KERNEL_SLOT_DATA bytes behind it */
    uint32_t value; /* of the flag when the data are there: another each time that it is taken */
};
#define GPU_SLOT_LENT 0x80000000u /* the values of one that another process keeps have this bit */

/* Allocates the GPU's slots, unless they are there: 24 MiB. Not while a stream waits. Without them none can be taken. */
void gpu_slots_prepare(struct gpu *gpu);
/* Most of that size are free. */
bool gpu_slots_are_plenty(const struct gpu *gpu, uint64_t nbytes);
/* false: none of that size is free. */
bool gpu_slot_take(const struct gpu *gpu, uint64_t nbytes, struct gpu_slot *slot);
/* Its data. */
struct memory gpu_slot_memory(const struct gpu_slot *slot);
/* Nobody writes to it any more. */
void gpu_slot_give(struct gpu_slot *slot);
/* Somebody may yet: it is not used again. */
void gpu_slot_retire(struct gpu_slot *slot);
/* The allocation that it lies in. */
void gpu_slot_export(const struct gpu_slot *slot, struct memory_export *shared);
/* Frees all; no peer maps them. */
void gpu_slots_stop(void);

#endif
