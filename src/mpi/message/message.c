/* One message: its arguments are checked, it is described, announced or posted, and ended. */
#include "mpi/message/message.h"

#include <stdio.h>

#include "gpu/core/sync_memops.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/progress.h"
#include "mpi/datatype/flat_type.h"
#include "mpi/datatype/pack.h"
#include "mpi/datatype/pack_pool.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/send_deferred.h"
#include "mpi/p2p/send_net.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/p2p/transports.h"

static int check(const struct arguments *arguments, const struct comm *comm, enum request_kind kind,
                 struct gpubind_error *err)
{
    const bool receive = kind == REQUEST_RECEIVE;
    const int rank = arguments->rank, tag = arguments->tag;

    if (arguments->count < 0) {
        error_set(err, "the count is %lld", (long long)arguments->count);
        return MPI_ERR_COUNT;
    }
    if (rank != MPI_PROC_NULL && !(receive && rank == MPI_ANY_SOURCE) &&
        (rank < 0 || rank >= comm->size)) {
        error_set(err, "%s is rank %d of a communicator of %d",
                  receive ? "the source" : "the destination", rank, comm->size);
        return MPI_ERR_RANK;
    }
    if (!(receive && tag == MPI_ANY_TAG) && (tag < 0 || tag > comm->tag_most)) {
        error_set(err, "the tag is %d, not 0 to %d", tag, comm->tag_most);
        return MPI_ERR_TAG;
    }
    return MPI_SUCCESS;
}

/* All of the buffer can be counted and addressed. */
static int check_size(const struct type_shape *shape, MPI_Count count, uint64_t *nbytes,
                      struct gpubind_error *err)
{
    MPI_Count bytes, span;

    if (!__builtin_mul_overflow(count, shape->nbytes, &bytes) &&
        !__builtin_mul_overflow(count, shape->extent, &span)) {
        *nbytes = (uint64_t)bytes;
        return MPI_SUCCESS;
    }
    error_set(err,
              "the count is %lld, of elements of %llu bytes that are %lld bytes apart: that "
              "is more than memory can hold",
              (long long)count, (unsigned long long)shape->nbytes, (long long)shape->extent);
    return MPI_ERR_COUNT;
}

/* A blocking call comes after earlier work in the legacy stream, which cannot be while
 * that is captured. */
static int come_after(struct gpubind_operation *operation, struct gpubind_error *err)
{
    if (operation->order != ORDER_OPEN)
        return 0;
    if (gpu_is_capturing(operation->memory.gpu)) {
        operation->order = ORDER_DONE;
        return error_set(err, "a blocking stream is being captured: blocking calls, which come "
                              "after its work, are not possible");
    }
    request_order(operation);
    return 0;
}

/* A copy that has returned ends soon; other work there may wait for this very message. */
#define COPIES_END_WITHIN 1.0 /* seconds */

/* Of the application, that have returned and may be under way all the same. */
static void come_after_copies(struct gpubind_operation *operation, enum call_kind call)
{
    if (operation->order == ORDER_OPEN)
        return;
    if (call == CALL_ON_STREAM || gpu_is_guarded() || gpu_is_capturing(operation->memory.gpu)) {
        sync_memops_settle(&operation->memory);
        return;
    }
    operation->order = ORDER_OPEN;
    operation->order_until = clock_seconds() + COPIES_END_WITHIN;
}

/* The data of a type that is not dense may be all the same: a part of a row, say. */
static bool is_run(const struct type_shape *shape, MPI_Count count)
{
    return shape->dense ||
           (shape->together && (count == 1 || shape->extent == (MPI_Aint)shape->nbytes));
}

/* Packing is ordered in any case. */
static enum order order_of(const struct gpubind_operation *operation, enum call_kind call,
                           bool strided)
{
    if (call == CALL_ON_STREAM)
        return ORDER_DEFERRED;
    if (operation->nbytes == 0 || !operation->memory.gpu)
        return ORDER_DONE;
    return strided || (call == CALL_BLOCKING && library_settings()->order) ? ORDER_OPEN
                                                                           : ORDER_DONE;
}

struct gpubind_operation *message_describe(const struct arguments *arguments, struct comm *comm,
                                           enum request_kind kind, struct type_shape *shape,
                                           int *result, struct gpubind_error *err)
{
    struct gpubind_operation *operation;
    const char *first; /* where its data begin */
    uint64_t nbytes;

    *result = check(arguments, comm, kind, err);
    if (*result != MPI_SUCCESS)
        return NULL;
    *result = MPI_ERR_TYPE;
    if (type_lookup(arguments->type, shape, err) < 0)
        return NULL;
    *result = check_size(shape, arguments->count, &nbytes, err);
    if (*result != MPI_SUCCESS)
        return NULL;
    *result = MPI_ERR_BUFFER;
    first = (const char *)arguments->buf + shape->first;
    if (arguments->rank != MPI_PROC_NULL && nbytes > 0 && !first) {
        error_set(err, "the buffer is NULL, with %lld elements", (long long)arguments->count);
        return NULL;
    }
    *result = MPI_ERR_OTHER;
    operation = request_make(kind);
    if (!operation) {
        error_set(err, "out of memory");
        return NULL;
    }
    request_attach(operation, comm);
    operation->rank = arguments->rank;
    operation->tag = arguments->tag;
    operation->type = shape->number;
    operation->buffer = (void *)(uintptr_t)arguments->buf;
    operation->nbytes = nbytes;
    if (arguments->rank >= 0)
        operation->peer = &comm->domain->peers[comm->domain_ranks[arguments->rank]];
    if (arguments->rank != MPI_PROC_NULL) {
        if (memory_of(first, &operation->memory, err) < 0) {
            request_free(operation);
            return NULL;
        }
        operation->memory.address -= (gpu_address)(first - (const char *)arguments->buf);
    }
    *result = MPI_SUCCESS;
    return operation;
}

struct gpubind_operation *message_prepare(const struct arguments *arguments, struct comm *comm,
                                          enum request_kind kind, enum call_kind call, int *result,
                                          struct gpubind_error *err)
{
    struct type_shape shape;
    struct gpubind_operation *operation = message_describe(arguments, comm, kind, &shape, result,
                                                           err);

    bool strided;

    if (!operation || operation->rank == MPI_PROC_NULL)
        return operation;
    strided = operation->nbytes > 0 && !is_run(&shape, arguments->count);
    if (!strided) {
        operation->buffer = (char *)operation->buffer + shape.first;
        operation->memory.address += (gpu_address)shape.first;
    }
    operation->on_stream = call == CALL_ON_STREAM;
    operation->order = order_of(operation, call, strided);
    if (operation->nbytes > 0 && sync_memops_enable(&operation->memory))
        come_after_copies(operation, call);
    if (come_after(operation, err) == 0 &&
        (!strided || pack_make(operation, &shape, (uint64_t)arguments->count, err) == 0)) {
        request_record(operation);
        return operation;
    }
    *result = MPI_ERR_OTHER;
    request_free(operation);
    return NULL;
}

/* PROC_NULL: over before it began. */
static bool is_for_nobody(struct gpubind_operation *operation)
{
    if (operation->rank != MPI_PROC_NULL)
        return false;
    operation->source = MPI_PROC_NULL;
    operation->got_tag = MPI_ANY_TAG;
    request_succeed(operation);
    return true;
}

/* Memory that was sent from or into for the first time: what was freed before it may be
 * mapped by peers still. */
void message_sweep(void)
{
    flat_type_sweep();
    pack_pool_trim();
    if (memory_exports_added())
        ipc_refs_sweep();
}

static bool is_ordered(const void *send)
{
    return request_check_order((struct gpubind_operation *)(uintptr_t)send) != 0; /* the caller's */
}

/* Its data may go with the announcement. */
static void start_send_net(struct gpubind_operation *send)
{
    while (send->order == ORDER_OPEN)
        progress_wait_for(is_ordered, send, 3600);
    send_net(send);
}

static void start_send(struct gpubind_operation *send, bool blocking)
{
    const bool packed = send->pack && pack_is_dense(send->pack);

    if (is_for_nobody(send))
        return;
    if (blocking && !packed && transports_put(send))
        return;
    /* Strided data that no waiting receive took. A message whose packing failed is sent as
     * one that failed: its receiver waits for it. */
    if (send->pack && !packed && deferred_send_pack(send, &send->error) < 0)
        request_fail(send);
    if (send->peer->local >= 0)
        send_shm(send);
    else
        start_send_net(send);
    if (!blocking)
        deferred_send_serve(send);
    message_sweep();
}

static void start_receive(struct gpubind_operation *receive, bool blocking)
{
    if (is_for_nobody(receive))
        return;
    match_receive(receive);
    if (blocking && !receive->done)
        rtr_post(receive);
    message_sweep();
}

/* Returns TEXT, of 16 bytes, with the number, or the name that MPI has for it. */
static const char *rank_text(int rank, char *text)
{
    if (rank == MPI_PROC_NULL)
        return "MPI_PROC_NULL";
    if (rank == MPI_ANY_SOURCE)
        return "MPI_ANY_SOURCE";
    snprintf(text, 16, "%d", rank);
    return text;
}

static const char *tag_text(int tag, char *text)
{
    if (tag == MPI_ANY_TAG)
        return "MPI_ANY_TAG";
    snprintf(text, 16, "%d", tag);
    return text;
}

static void trace_start_of(const struct gpubind_operation *operation)
{
    char rank[16], tag[16];
    const char *memory = operation->memory.gpu ? "GPU" : "host";
    const char *strided = operation->pack ? ", strided" : "";

    if (operation->kind == REQUEST_SEND)
        trace(TRACE_P2P, "send %u: to rank %s, tag %d, %llu bytes of %s memory%s",
              operation->number, rank_text(operation->rank, rank), operation->tag,
              (unsigned long long)operation->nbytes, memory, strided);
    else
        trace(TRACE_P2P, "receive %u: from rank %s, tag %s, room for %llu bytes of %s memory%s",
              operation->number, rank_text(operation->rank, rank), tag_text(operation->tag, tag),
              (unsigned long long)operation->nbytes, memory, strided);
}

void message_start(struct gpubind_operation *operation, bool blocking)
{
    trace_start_of(operation);
    if (operation->kind == REQUEST_SEND)
        start_send(operation, blocking);
    else
        start_receive(operation, blocking);
}

/* ---- its end */

static void fill_status(MPI_Status *status, int source, int tag, uint64_t nbytes, bool cancelled)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    if (library_phase() == LIBRARY_OVER && !library_mpi_is_up())
        return;
    PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)nbytes);
    PMPI_Status_set_cancelled(status, cancelled);
}

void request_empty_status(MPI_Status *status)
{
    fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = MPI_SUCCESS;
}

static void tell_status(const struct gpubind_operation *operation, MPI_Status *status)
{
    if (operation->kind == REQUEST_RECEIVE && !operation->cancelled)
        fill_status(status, operation->source, operation->got_tag, operation->got_bytes, false);
    else
        fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, operation->cancelled);
}

/* Strided data that were received are in their place from then on, and are not touched
 * again. */
static void settle(struct gpubind_operation *operation)
{
    if (pack_finish(operation, &operation->error) < 0)
        operation->result = MPI_ERR_OTHER;
    if (operation->kind == REQUEST_SEND)
        return;
    pack_free(operation->pack);
    operation->pack = NULL;
}

void request_status(struct gpubind_operation *operation, MPI_Status *status)
{
    settle(operation);
    tell_status(operation, status);
}

bool request_has_outlived(struct gpubind_operation *operation)
{
    if (library_phase() != LIBRARY_OVER || !operation || operation->channel)
        return false;
    operation->comm = NULL;
    operation->domain = NULL;
    operation->peer = NULL;
    operation->pack = NULL;
    operation->before.gpu = NULL;
    operation->called = 0;
    operation->held = false;
    if (!operation->done)
        request_complete(operation, MPI_ERR_OTHER, "the library has ended");
    return true;
}

int request_finish(struct gpubind_operation *operation, MPI_Status *status,
                   struct gpubind_error *err)
{
    int result;

    request_status(operation, status);
    result = operation->result;
    *err = operation->error;
    operation->inactive = operation->channel;
    if (operation->channel)
        requests_count(-1);
    if (!operation->channel)
        request_free(operation);
    return result;
}
