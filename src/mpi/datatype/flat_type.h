/* Where the data of a strided type lie; shared by the type and by messages that are under
 * way, since a type may be freed before they end. */
#ifndef GPUBIND_MPI_DATATYPE_FLAT_TYPE_H
#define GPUBIND_MPI_DATATYPE_FLAT_TYPE_H

#include "gpu/copy/iov_copy.h"
#include "gpu/exchange/exchange.h"
#include "mpi/datatype/type_cache.h"

/* Takes over the blocks, which malloc made, and has one user; NULL: no memory, the
 * blocks are still the caller's. */
struct flat_type *flat_type_make(struct type_block *blocks, int nblocks, size_t nbytes,
                                 MPI_Aint extent);
/* Of an element that has a layout: no list of its blocks is made. */
struct flat_type *flat_type_make_regular(const struct layout *element, size_t nbytes,
                                         MPI_Aint extent);
void flat_type_retain(struct flat_type *flat);
/* One user less. Of any thread, also inside MPI; what the last one leaves on GPUs is freed
 * by a flat_type_sweep. */
void flat_type_release(struct flat_type *flat);
void flat_type_sweep(void);
/* All GPUs go: no table of any type is left on them. */
void flat_type_stop(void);

/* The layout of count elements, as layout_of gives it; it takes long only the first time. */
bool flat_type_layout(struct flat_type *flat, uint64_t count, struct layout *layout);
/* The same of a type, dense or not. */
bool type_layout(const struct type_shape *shape, uint64_t count, struct layout *layout);
/* Of its own in this process, never 0; *n: its pieces. */
uint64_t flat_type_name(const struct flat_type *flat, uint64_t *n, int64_t *extent);
void flat_type_iov(const struct flat_type *flat, struct gather_piece *pieces);
/* The same data as pieces; NULL: no memory. */
struct gather *flat_type_gather(struct flat_type *flat);
/* In host memory: nbytes from the elements at strided to dense, or back (spread). */
void flat_type_copy_on_host(const struct flat_type *flat, char *strided, char *dense,
                            uint64_t nbytes, bool scatter);

#endif
