/* Where the data of a strided type lie; shared by the type and by messages that are under
 * way, since a type may be freed before they end. */
#ifndef GPUBIND_MPI_DATATYPE_FLAT_TYPE_H
#define GPUBIND_MPI_DATATYPE_FLAT_TYPE_H

#include "cuda/exchange.h"
#include "cuda/gather.h"
#include "mpi/datatype/type_cache.h"

/* Takes over the blocks, which malloc made, and has one user; NULL: no memory, the
 * blocks are still the caller's. */
struct strides *strides_make(struct type_block *blocks, int nblocks, size_t nbytes,
                             MPI_Aint extent);
/* Of an element that has a layout: no list of its blocks is made. */
struct strides *strides_make_regular(const struct layout *element, size_t nbytes,
                                     MPI_Aint extent);
void strides_use(struct strides *strides);
/* One user less. Of any thread, also inside MPI; what the last one leaves on GPUs is freed
 * by a strides_sweep. */
void strides_drop(struct strides *strides);
void strides_sweep(void);
/* All GPUs go: no table of any type is left on them. */
void strides_stop(void);

/* The layout of count elements, as layout_of gives it; it takes long only the first time. */
bool strides_layout(struct strides *strides, uint64_t count, struct layout *layout);
/* The same of a type, dense or not. */
bool type_layout(const struct type_shape *shape, uint64_t count, struct layout *layout);
/* Of its own in this process, never 0; *n: its pieces. */
uint64_t strides_name(const struct strides *strides, uint64_t *n, int64_t *extent);
void strides_pieces(const struct strides *strides, struct gather_piece *pieces);
/* The same data as pieces; NULL: no memory. */
struct gather *strides_gather(struct strides *strides);
/* In host memory: nbytes from the elements at strided to dense, or back (spread). */
void strides_copy_on_host(const struct strides *strides, char *strided, char *dense,
                          uint64_t nbytes, bool spread);

#endif
