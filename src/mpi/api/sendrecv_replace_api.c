/* gpubind_sendrecv_replace: packs the data to send into a buffer of the library, and receives into
 * the application's. */
#include <stdlib.h>

#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/datatype/flat_type.h"
#include "mpi/datatype/pack.h"
#include "mpi/gpubind.h"
#include "mpi/message/message.h"
#include "mpi/p2p/send_deferred.h"

/* Contiguous data are packed like others: gives them a flat type of one block. */
static int make_pack(struct gpubind_operation *send, struct gpubind_error *err)
{
    struct type_block *block = malloc(sizeof *block);
    struct type_shape shape = {.nbytes = send->nbytes, .extent = (MPI_Aint)send->nbytes};
    int status;

    if (block)
        *block = (struct type_block){0, send->nbytes};
    shape.flat = block ? flat_type_make(block, 1, send->nbytes, shape.extent) : NULL;
    if (!shape.flat) {
        free(block);
        return error_set(err, "out of memory");
    }
    status = pack_make(send, &shape, 1, err);
    flat_type_release(shape.flat); /* the pack has retained it */
    return status;
}

static bool is_packed(const void *send)
{
    return !((const struct gpubind_operation *)send)->packing;
}

/* Packs the data to send. 0: the buffer may be overwritten; -1 with a sentence. */
static int pack_data(struct gpubind_operation *send, struct gpubind_error *err)
{
    if (send->rank == MPI_PROC_NULL || send->nbytes == 0)
        return 0;
    if (!send->pack && make_pack(send, err) < 0)
        return -1;
    if (deferred_send_pack(send, err) < 0)
        return -1;
    while (!is_packed(send))
        progress_wait_for(is_packed, send, 3600);
    if (send->result == MPI_SUCCESS)
        return 0;
    *err = send->error;
    return -1;
}

/* Prepares both messages and packs the data, or nothing. */
static int prepare(const struct arguments *sending, const struct arguments *receiving,
                   struct comm *comm, struct gpubind_operation *both[2], struct gpubind_error *err)
{
    int result;

    both[0] = message_prepare(receiving, comm, REQUEST_RECEIVE, CALL_BLOCKING, &result, err);
    if (!both[0])
        return result;
    both[1] = message_prepare(sending, comm, REQUEST_SEND, CALL_BLOCKING, &result, err);
    if (both[1] && pack_data(both[1], err) == 0)
        return MPI_SUCCESS;
    request_free(both[0]);
    if (!both[1])
        return result;
    request_free(both[1]);
    return MPI_ERR_OTHER;
}

static int exchange(struct gpubind_operation *both[2], MPI_Status *status,
                    struct gpubind_error *err)
{
    struct gpubind_error second;
    int result, other;

    message_start(both[0], false);
    message_start(both[1], true);
    progress_wait(both, 2, false);
    result = request_finish(both[0], status, err);
    other = request_finish(both[1], MPI_STATUS_IGNORE, &second);
    if (result != MPI_SUCCESS)
        return result;
    *err = second;
    return other;
}

int gpubind_sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag,
                               int source, int recvtag, MPI_Comm user, MPI_Status *status)
{
    const struct arguments sending = {buf, count, type, dest, sendtag, user};
    const struct arguments receiving = {buf, count, type, source, recvtag, user};
    struct gpubind_operation *both[2];
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_sendrecv_replace");
    comm = library_comm(user, &result, &err);
    if (comm)
        result = prepare(&sending, &receiving, comm, both, &err);
    if (result == MPI_SUCCESS)
        result = exchange(both, status, &err);
    return library_leave(user, result, "gpubind_sendrecv_replace", &err);
}

int gpubind_sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag,
                             int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return gpubind_sendrecv_replace_c(buf, count, type, dest, sendtag, source, recvtag, comm,
                                      status);
}
