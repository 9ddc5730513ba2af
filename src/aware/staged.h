/* Buffers of an MPI call that lie on a GPU: MPI is given host memory with the same displacements
 * instead. */
#ifndef GPUBIND_AWARE_STAGED_H
#define GPUBIND_AWARE_STAGED_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum staged_use {
    STAGED_READ = 1,   /* MPI reads it: copied to the host before the call */
    STAGED_WRITTEN = 2 /* MPI writes to it: copied to the GPU when the call has completed */
};

/* Elements of one type, from displacement (bytes) of the buffer on. */
struct staged_part {
    MPI_Aint displacement;
    MPI_Count count;
    MPI_Datatype type;
};

/* One buffer of a call. */
struct staged {
    char *user;    /* as the application passed it */
    char *host;    /* for MPI: user, or such that host + displacement is in memory */
    char *memory;  /* host memory; NULL: the buffer is host memory */
    size_t nbytes; /* of memory */
    MPI_Aint low;  /* the displacement of its first byte */
    unsigned use;
    int nparts;
    struct staged_part *parts; /* one: &part */
    struct staged_part part;
    bool own_types; /* the types are duplicates, for calls that end later */
};

/* A buffer of count elements. An MPI error class; on success staged->host is for MPI, and
 * staged_end is to be called. later: the call ends after this function's caller has returned, and
 * the application may free the type. */
int staged_begin(struct staged *staged, const void *user, MPI_Count count, MPI_Datatype type,
                 unsigned use, bool later);
/* Several parts, which the call copies. */
int staged_begin_parts(struct staged *staged, const void *user, int nparts,
                       const struct staged_part *parts, unsigned use, bool later);

/* Copies to the host again: of a persistent request that is started. */
int staged_read(struct staged *staged);
/* Copies what MPI has written to the GPU; nbytes: at most so many bytes of the first part, as a
 * status says, or -1 for all. */
int staged_write(struct staged *staged, MPI_Count nbytes);
/* Gives the host memory back. */
void staged_end(struct staged *staged);

#endif
