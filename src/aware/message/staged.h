/* Buffers of an MPI call that lie on a GPU: MPI is given host memory with the same displacements
 * instead. */
#ifndef GPUBIND_AWARE_STAGED_H
#define GPUBIND_AWARE_STAGED_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "aware/memory/host_pool.h"
#include "aware/memory/sparse_block.h"

enum staged_use {
    STAGED_READ = 1,      /* MPI reads it: copied to the host before the call */
    STAGED_WRITTEN = 2,   /* MPI writes to it: copied to the GPU when the call has completed */
    STAGED_DENSE = 4,     /* MPI may be given the bytes of a type with gaps, as MPI_PACKED */
    STAGED_NOBODY = 16,   /* MPI_PROC_NULL: the buffer has no meaning */
    STAGED_MESSAGE = 32,  /* it receives a message, which may come directly (direct_receive.h) */
    STAGED_WINDOW = 64,   /* of a one-sided call, which a synchronisation completes, too */
    STAGED_AT_FREE = 128, /* MPI may write as it frees a request that was complete before */
    STAGED_LATER = 8      /* the call ends after the function has returned, and the application may
                             free the type in between */
};

/* Elements of one type, from displacement (bytes) of the buffer on. */
struct staged_part {
    MPI_Aint displacement;
    MPI_Count count;
    MPI_Datatype type;
};

/* One buffer of a call. */
struct staged {
    char *user; /* as the application passed it */
    /* For MPI: user, or such that host + displacement is in the block; and how many of what */
    char *host;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Count
        direct;  /* bytes, if a direct message may come, and parts and use are there, too; or 0 */
    bool staged; /* else the buffer is host memory, and nothing else below is used */
    bool dense;  /* the block has the bytes alone */
    struct host_block block;
    struct sparse_block sparse; /* in place of block, if user is MPI_BOTTOM */
    unsigned use;
    int nparts;
    _Atomic unsigned char *written; /* of each part; NULL: staged_write_part is not called */
    struct staged_part *parts;      /* one: &part */
    struct staged_part part;
};

/* A buffer of count elements. An MPI error class; on success host, count and type are for MPI, and
 * staged_end is to be called. */
int staged_begin(struct staged *staged, const void *user, MPI_Count count, MPI_Datatype type,
                 unsigned use);
/* Several parts, which the call copies. */
int staged_begin_parts(struct staged *staged, const void *user, int nparts,
                       const struct staged_part *parts, unsigned use);
/* Says that a buffer is no memory. MPI_ERR_BUFFER. */
int staged_refuse_lost(const void *user);
/* A buffer that stays as the application passed it. */
void staged_pass(struct staged *staged, const void *user);
/* MPI takes two equal pointers for MPI_IN_PLACE, or for an error; those to a block with a displacement
 * may be equal by accident. Moves the second buffer then. An MPI error class. */
int staged_keep_apart(const struct staged *first, struct staged *second);
/* Copies to the host again: of a persistent request that is started. */
int staged_read(struct staged *staged);
/* Copies what MPI has written to the GPU; nbytes: at most so many bytes of the first part, as a
 * status says, or -1 for all. */
int staged_write(struct staged *staged, MPI_Count nbytes);
/* The parts are partitions of a message, which are copied one by one: to the host, and to the GPU, where
 * staged_write leaves them out then until the message is started again. */
int staged_keep_written(struct staged *staged);
int staged_read_part(const struct staged *staged, int part);
int staged_write_part(const struct staged *staged, int part);
void staged_restart(const struct staged *staged);
/* Gives the host memory back. */
void staged_end(struct staged *staged);

#endif
