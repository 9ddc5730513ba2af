/* Strided data: between GPUs of a node moved straight from and to where they lie, else
 * as dense data from or to a buffer of the library's beside them. */
#ifndef GPUBIND_MPI_DATATYPE_PACK_H
#define GPUBIND_MPI_DATATYPE_PACK_H

#include "gpu/copy/iov_copy.h"
#include "mpi/core/request.h"
#include "mpi/datatype/type_cache.h"

/* The operation's buffer has count elements of shape. A send that is gated has the dense
 * buffer from now on, others from pack_start on. 0, or -1 with a sentence. */
int pack_make(struct gpubind_operation *operation, const struct type_shape *shape, uint64_t count,
              struct gpubind_error *err);
void pack_free(struct pack *pack);
/* Has what moving the data will need of the GPU, so that it need not be got while a stream is
 * held. The operation may have no pack. */
void pack_prepare(const struct gpubind_operation *operation);

/* A send's data are, or will be, in a dense buffer of the library's. */
bool pack_is_dense(const struct pack *pack);

/* The layout of all of it; false: it has none. */
bool pack_layout(const struct pack *pack, struct layout *layout);

/* Of its type, as flat_type_name and flat_type_iov say. */
uint64_t pack_type_name(const struct pack *pack, uint64_t *n, int64_t *extent);
void pack_iov(const struct pack *pack, struct gather_piece *pieces);

/* ---- a send */

/* Queues the copies from GPU memory to dense memory that the GPU can address, in GPU_OUT. */
int pack_gather(struct gpubind_operation *send, cuda_address dense, struct gpubind_error *err);
/* The same to irregular pieces, also of a dense send. */
int pack_gather_to(struct gpubind_operation *send, const struct gather_end *to,
                   struct gpubind_error *err);
/* Queues the packing, after earlier work in the legacy stream when its order says so: the
 * operation's buffer is a dense one of the library's from now on. Host memory is packed at
 * once. */
int pack_start(struct gpubind_operation *send, struct gpubind_error *err);
/* That this is in; NULL: it has not begun, or nothing is to be waited for. */
struct CUstream_st *pack_stream(const struct pack *pack);
/* What was queued, 1: is done; 0: not yet; -1 with a sentence: it failed. */
int pack_landed(struct gpubind_operation *operation, struct gpubind_error *err);

/* ---- a receive */

/* Queues the copies from dense memory that the GPU can address, in GPU_IN. */
int pack_scatter(struct gpubind_operation *receive, cuda_address dense, struct gpubind_error *err);
/* The data lie in host memory: puts them where they belong. Returns when they are there. */
int pack_scatter_host(struct gpubind_operation *receive, const char *dense,
                      struct gpubind_error *err);
/* The operation's buffer is a dense one of the library's from now on; pack_finish puts the
 * data where they belong. */
int pack_dense(struct gpubind_operation *receive, struct gpubind_error *err);

/* ---- both: the operation is done, before the application hears of it */
int pack_finish(struct gpubind_operation *operation, struct gpubind_error *err);

#endif
