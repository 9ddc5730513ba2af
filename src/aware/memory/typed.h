/* Data of any MPI type whose bytes lie in GPU memory, or some in GPU and some in host memory. Each
 * function returns an MPI error class; a failed copy has said why on stderr. */
#ifndef GPUBIND_AWARE_TYPED_H
#define GPUBIND_AWARE_TYPED_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Also of MPI_BOTTOM, which is no pointer to count from. */
static inline char *address_at(const void *base, MPI_Aint offset)
{
    return (char *)((uintptr_t)base + (uintptr_t)offset);
}

/* count elements of a type. */
struct typed {
    char *at;
    MPI_Count count;
    MPI_Datatype type;
    bool host;     /* all of it is host memory */
    bool absolute; /* counted from MPI_BOTTOM: each block may be in other memory */
};

static inline struct typed typed_at(const void *base, MPI_Aint displacement, MPI_Count count,
                                    MPI_Datatype type)
{
    return (struct typed){address_at(base, displacement), count, type, false, base == MPI_BOTTOM};
}

/* Bytes of data. */
MPI_Count typed_bytes(const struct typed *typed);
/* Some byte of it is GPU memory: every block is looked at. */
bool typed_is_on_gpu(const struct typed *typed);

/* Each piece of it, in the order of the type. */
typedef void typed_visit(void *visitor, const void *at, size_t nbytes);
int typed_each(const struct typed *typed, typed_visit *visits, void *visitor);

/* The byte that lies first in memory, which need not be at the address: that may be outside of the memory. */
char *typed_first(const struct typed *typed);
/* The same; NULL: of data at absolute addresses. */
char *typed_low(const struct typed *typed);
/* Its bytes follow each other in memory, in the order of the type, from *start on. */
bool typed_is_contiguous(const struct typed *typed, char **start);
#define TYPED_UNIT 16 /* bytes, of which the lengths of descriptors are multiples (direct_send.h) */
/* It has, or MPI_PACKED may have, predefined elements of several sizes, or of one that does not divide TYPED_UNIT: MPICH
 * refuses to receive such data in host memory, in a type with gaps, from a message that comes, or ends, as bytes: no
 * predefined element may come in parts. */
bool typed_needs_whole_elements(const struct typed *typed);
/* Copies the first nbytes of it (or fewer, where it has fewer), which lie in host memory, to dense. Where that
 * cannot be, dense stays as it is. */
void typed_head(const struct typed *typed, void *dense, size_t nbytes);

/* All of it to dense host memory. */
int typed_pack(const struct typed *typed, void *dense);
/* The first nbytes of it from dense host memory. */
int typed_unpack(const struct typed *typed, const void *dense, MPI_Count nbytes);
/* The same two where dense is GPU memory that the context of the data can access: all of the data is in GPU
 * memory, and none at absolute addresses. */
int typed_pack_gpu(const struct typed *typed, void *dense);
int typed_unpack_gpu(const struct typed *typed, const void *dense, MPI_Count nbytes);
/* All of it to host memory of the same layout: what is at typed->at here is at host there. */
int typed_read(const struct typed *typed, char *host);
/* The first nbytes of it from such memory. */
int typed_write(const struct typed *typed, const char *host, MPI_Count nbytes);

#endif
