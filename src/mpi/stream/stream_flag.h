/* Flags in page-locked memory that streams write, or wait for, by stream memory operations. Those in the memory
 * that the ranks of MPI_COMM_WORLD's node share have names, by which streams of other ranks use them. */
#ifndef GPUBIND_MPI_STREAM_STREAM_FLAG_H
#define GPUBIND_MPI_STREAM_STREAM_FLAG_H

#include "gpu/core/gpu_context.h"
#include "mpi/core/domain.h"

struct stream_flag {
    struct stream_flag *next;
    _Atomic uint32_t *at;
    uint32_t name;  /* 0: no other rank sees it */
    uint32_t value; /* the latest to be written or waited for; it increases, and wraps around */
};

/* The context in which they are page-locked is gone: flags that are not in use are not given
 * out again. */
void stream_flags_unpinned(void);
/* A flag for a stream of the current context. NULL with a sentence. */
struct stream_flag *stream_flag_take(struct gpubind_error *err);
/* Most of those with names are not in use. */
bool stream_flags_are_plenty(void);
/* Returns a flag, which others may take even while a stream waits for a value that it has had. */
void stream_flag_give(struct stream_flag *flag);
/* The host writes flag->value. */
void stream_flag_set(struct stream_flag *flag);
/* The flag has reached value. */
bool stream_flag_has(const struct stream_flag *flag, uint32_t value);
/* The flags of another rank: maps and page-locks them, in the context of a GPU. To be called before a stream waits
 * for the library. */
void stream_flags_prepare(const struct domain *domain, int local, const struct gpu *gpu);
/* Another rank's flag; NULL: its flags cannot be used, or it has no name. */
_Atomic uint32_t *stream_flag_of(const struct domain *domain, int local, uint32_t name);
#endif
