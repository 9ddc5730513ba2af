/* A message from a call's arguments to the started request, and the end of a request as the
 * application is told of it. */
#ifndef GPUBIND_MPI_MESSAGE_MESSAGE_H
#define GPUBIND_MPI_MESSAGE_MESSAGE_H

#include "mpi/core/request.h"
#include "mpi/datatype/type_cache.h"

struct arguments {
    const void *buf;
    MPI_Count count;
    MPI_Datatype type;
    int rank, tag;
    MPI_Comm comm;
};

enum call_kind { CALL_BLOCKING, CALL_NONBLOCKING, CALL_ON_STREAM };

/* Checks the arguments and makes a request; its buffer is the caller's. *shape: of the datatype.
 * NULL with an error class in *result and a sentence. */
struct gpubind_operation *message_describe(const struct arguments *arguments, struct comm *comm,
                                           enum request_kind kind, struct type_shape *shape,
                                           int *result, struct gpubind_error *err);
/* The same, ready for message_start: strided data are prepared for packing, the request is ordered
 * after the GPU's work, or deferred when it is on a stream. */
struct gpubind_operation *message_prepare(const struct arguments *arguments, struct comm *comm,
                                          enum request_kind kind, enum call_kind call, int *result,
                                          struct gpubind_error *err);
/* Announces a send, posts a receive. A deferred one has its place in MPI's order from now on. */
void message_start(struct gpubind_operation *operation, bool blocking);
/* Frees cached buffers and types beyond their limits, and memory whose mappings are to be
 * closed. */
void message_sweep(void);

/* The library has ended before a call that completes an ordinary request has: what the request refers to is no more, and
 * it is complete, with an error if it was not. Those of persistent requests were completed then. */
bool request_has_outlived(struct gpubind_operation *operation);
/* A complete request: returns its MPI error class, with the sentence in err, fills the status
 * (unless ignored) and frees the request; a persistent one becomes inactive. */
int request_finish(struct gpubind_operation *operation, MPI_Status *status,
                   struct gpubind_error *err);
/* Fills the status of a complete request, which stays as it is. */
void request_status(struct gpubind_operation *operation, MPI_Status *status);
/* The empty status of MPI_REQUEST_NULL and inactive requests. */
void request_empty_status(MPI_Status *status);

#endif
