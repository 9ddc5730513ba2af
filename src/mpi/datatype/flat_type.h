/* Flattened datatypes: where the bytes of an element lie. A flat type is shared by the MPI type
 * and by messages under way, since the application may free the type before they end. */
#ifndef GPUBIND_MPI_DATATYPE_FLAT_TYPE_H
#define GPUBIND_MPI_DATATYPE_FLAT_TYPE_H

#include "gpu/copy/iov_copy.h"
#include "gpu/exchange/exchange.h"
#include "mpi/datatype/type_cache.h"

/* From a list of blocks, which malloc made and the flat type takes over. It has one user. NULL:
 * out of memory; the blocks are still the caller's. */
struct flat_type *flat_type_make(struct type_block *blocks, int nblocks, size_t nbytes,
                                 MPI_Aint extent);
/* From an element's layout, without a list of blocks. */
struct flat_type *flat_type_make_regular(const struct strided_buffer *element, size_t nbytes,
                                         MPI_Aint extent);
void flat_type_retain(struct flat_type *flat);
/* One user less. Any thread may call this, also within MPI; GPU memory of a flat type without
 * users is freed by the next flat_type_sweep. */
void flat_type_release(struct flat_type *flat);
void flat_type_sweep(void);
/* At the library's end: frees the GPU memory of all flat types. */
void flat_type_stop(void);

/* The layout of count elements, as layout_of gives it; computed once for each type. */
bool flat_type_layout(struct flat_type *flat, uint64_t count, struct strided_buffer *layout);
/* The same for any type, dense or not. */
bool type_layout(const struct type_shape *shape, uint64_t count, struct strided_buffer *layout);
/* A number that no other type of this process has had, never 0; *n: entries of its iov. */
uint64_t flat_type_name(const struct flat_type *flat, uint64_t *n, int64_t *extent);
/* Fills the iov of one element. */
void flat_type_iov(const struct flat_type *flat, struct iov_block *iov);
/* The table for gather and scatter kernels. NULL: out of memory. */
struct iov_table *flat_type_iov_table(struct flat_type *flat);
/* In host memory: copies nbytes from the elements at strided to dense, or back (scatter). */
void flat_type_copy_on_host(const struct flat_type *flat, char *strided, char *dense,
                            uint64_t nbytes, bool scatter);

#endif
