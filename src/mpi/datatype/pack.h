/* Messages of noncontiguous data. Between GPUs of a node that reach each other the data are moved
 * straight between the two layouts; otherwise they are packed into, or unpacked from, a dense
 * buffer of the library. */
#ifndef GPUBIND_MPI_DATATYPE_PACK_H
#define GPUBIND_MPI_DATATYPE_PACK_H

#include "gpu/copy/iov_copy.h"
#include "mpi/core/request.h"
#include "mpi/datatype/type_cache.h"

/* Gives the operation a pack: its buffer has count elements of shape. A send whose payload is
 * deferred uses the dense buffer from now on, other sends from pack_start on. 0, or -1 with a
 * sentence. */
int pack_make(struct gpubind_operation *operation, const struct type_shape *shape, uint64_t count,
              struct gpubind_error *err);
void pack_free(struct pack *pack);
/* Allocates GPU memory that moving the data will need, which cannot be had while a stream is held.
 * The operation may have no pack. */
void pack_prepare(const struct gpubind_operation *operation);

/* The send uses a dense buffer of the library. */
bool pack_is_dense(const struct pack *pack);

/* The layout of the buffer. false: it is irregular. */
bool pack_layout(const struct pack *pack, struct strided_buffer *layout);

/* As flat_type_name and flat_type_iov, for its type. */
uint64_t pack_type_name(const struct pack *pack, uint64_t *n, int64_t *extent);
void pack_iov(const struct pack *pack, struct iov_block *iov);

/* ---- a send */

/* Queues in GPU_OUT the packing to dense memory that the GPU can address. */
int pack_gather(struct gpubind_operation *send, gpu_address dense, struct gpubind_error *err);
/* Queues in GPU_OUT the copies to the pieces of another table. The send may be dense. */
int pack_gather_to(struct gpubind_operation *send, const struct iov_end *to,
                   struct gpubind_error *err);
/* Starts to pack into a dense buffer of the library, which is the operation's buffer from now on:
 * in a GPU stream, ordered as send->order says, or for host memory at once. */
int pack_start(struct gpubind_operation *send, struct gpubind_error *err);
/* The stream that packs. NULL: none, or packing has not begun. */
gpu_stream pack_stream(const struct pack *pack);
/* Packing is 1: complete; 0: not yet; -1 with a sentence: it failed. */
int pack_test(struct gpubind_operation *operation, struct gpubind_error *err);

/* ---- a receive */

/* Queues in GPU_IN the unpacking from dense memory that the GPU can address. */
int pack_scatter(struct gpubind_operation *receive, gpu_address dense, struct gpubind_error *err);
/* Unpacks data in host memory. Returns when they are in the buffer. */
int pack_scatter_host(struct gpubind_operation *receive, const char *dense,
                      struct gpubind_error *err);
/* The operation's buffer is a dense one of the library from now on, which pack_finish unpacks. */
int pack_dense(struct gpubind_operation *receive, struct gpubind_error *err);

/* ---- both: the operation is complete, and the application does not know it yet */
int pack_finish(struct gpubind_operation *operation, struct gpubind_error *err);

#endif
