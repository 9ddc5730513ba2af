/* Room for chunks of messages under way: LANES of LANE_BYTES for sends, in shared
 * memory, on each GPU that needs them, or (network path) of this process alone; and
 * as many for receives on the network path. */
#ifndef GPUBIND_MPI_P2P_BOUNCE_POOL_H
#define GPUBIND_MPI_P2P_BOUNCE_POOL_H

#include "cuda/memory.h"
#include "mpi/core/domain.h"

struct lane {
    struct lane *next;
    bool taken;
    struct gpu *gpu;      /* on which it lies; NULL: host memory */
    struct domain *domain; /* in whose segment it lies; NULL: memory of this process */
    char *host;           /* for the CPU */
    cuda_address address; /* for copies */
    uint64_t offset;      /* in the domain's lanes, or in the GPU's allocation */
    cuda_address whole;   /* that allocation */
};

/* Makes those of the domain's segment, those on that GPU, or (both NULL) those of this process,
 * unless they are there: while a stream is held no memory can be had, see cuda/README.md. */
void lanes_prepare(struct domain *domain, struct gpu *gpu);
/* A free one: on gpu, or (NULL) in the domain's segment. NULL: all are taken, ask
 * again; or, with *none, there is no memory for them. */
struct lane *lane_take(struct domain *domain, struct gpu *gpu, bool *none);
/* Page-locked memory of this process, PRIVATE_LANE_BYTES, for sends or for receives by
 * MPI. */
#define PRIVATE_LANE_BYTES (3u << 20)
enum lane_use { LANE_OF_SENDS, LANE_OF_RECEIVES };
/* more: rather another one than none. */
struct lane *lane_take_private(enum lane_use use, bool more);
void lane_give(struct lane *lane);
/* The handle of a lane on a GPU. */
bool lane_share(const struct lane *lane, struct memory_export *shared);
/* Those in its segment; none is taken. */
void lanes_forget(const struct domain *domain);
void lanes_clear(void);

#endif
