/* Room for chunks of messages under way: BOUNCE_BUFFERS of BOUNCE_BYTES for sends, in shared
 * memory and on each GPU that needs them; on the network path BOUNCE_BUFFERS of
 * PRIVATE_BOUNCE_BYTES of this process for sends, and as many for receives. */
#ifndef GPUBIND_MPI_TRANSPORT_BOUNCE_POOL_H
#define GPUBIND_MPI_TRANSPORT_BOUNCE_POOL_H

#include "gpu/core/mem_query.h"
#include "mpi/core/domain.h"

struct bounce_buffer {
    struct bounce_buffer *next;
    bool taken;
    struct gpu *gpu;       /* on which it lies; NULL: host memory */
    struct domain *domain; /* in whose segment it lies; NULL: memory of this process */
    char *host;            /* for the CPU */
    gpu_address address;   /* for copies */
    uint64_t offset;       /* in the domain's bounce buffers, or in the GPU's allocation */
    gpu_address whole;     /* that allocation */
};

/* Makes those of the domain's segment, those on that GPU, or (both NULL) those of this process,
 * unless they are there: while a stream is held no memory can be had, see gpu/README.md. */
void bounce_pool_prepare(struct domain *domain, struct gpu *gpu);
/* A free one: on gpu, or (NULL) in the domain's segment. NULL: all are taken, ask
 * again; or, with *none, there is no memory for them. */
struct bounce_buffer *bounce_take(struct domain *domain, struct gpu *gpu, bool *none);
/* Page-locked memory of this process, PRIVATE_BOUNCE_BYTES, for sends or for receives by
 * MPI. */
#define PRIVATE_BOUNCE_BYTES (3u << 20)
enum bounce_use { BOUNCE_OF_SENDS, BOUNCE_OF_RECEIVES };
/* more: rather another one than none. */
struct bounce_buffer *bounce_take_private(enum bounce_use use, bool more);
void bounce_give(struct bounce_buffer *bounce);
/* The handle of a bounce buffer on a GPU. */
bool bounce_share(const struct bounce_buffer *bounce, struct memory_export *shared);
/* Those in its segment; none is taken. */
void bounce_pool_forget(const struct domain *domain);
void bounce_pool_clear(void);

#endif
