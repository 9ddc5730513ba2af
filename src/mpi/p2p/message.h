/* Messages, as the calls that send and receive make them. */
#ifndef GPUBIND_MPI_P2P_MESSAGE_H
#define GPUBIND_MPI_P2P_MESSAGE_H

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

/* An operation whose arguments are good, with its buffer as it is, and the shape of the
 * type; NULL with *result and a sentence. */
struct gpubind_operation *message_describe(const struct arguments *arguments, struct comm *comm,
                                           enum request_kind kind, struct type_shape *shape,
                                           int *result, struct gpubind_error *err);
/* The same, ready for message_start: strided data are packed; gated when it is on a
 * stream. */
struct gpubind_operation *message_prepare(const struct arguments *arguments, struct comm *comm,
                                          enum request_kind kind, enum call_kind call,
                                          int *result, struct gpubind_error *err);
/* Announces a send, posts a receive; what is gated waits from then on. */
void message_start(struct gpubind_operation *operation, bool blocking);
/* Frees what is not needed any more. */
void message_sweep(void);

/* The end of a request, as the application hears of it. */

/* What a finished operation returns: an MPI error class, with its sentence in err.
 * Fills the status (unless ignored) and forgets the operation; a persistent one is
 * inactive. */
int request_finish(struct gpubind_operation *operation, MPI_Status *status,
                   struct gpubind_error *err);
/* The status of a finished operation, which stays as it is. */
void request_status(struct gpubind_operation *operation, MPI_Status *status);
/* The status of a request that there is none of. */
void request_empty_status(MPI_Status *status);

#endif
