/* What a stream does to a message that was prepared for it, and started. */
#include "mpi/message/stream_message.h"

#include "mpi/core/context.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/progress_thread.h"
#include "mpi/core/transport.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/send_deferred.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/p2p/stream_receive.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/p2p/transports.h"
#include "mpi/stream/stream_flag.h"

static void start_send(struct gpubind_operation *send)
{
    struct gpubind_error err;
    bool good;

    if (send->done) /* the receiver had no room for it */
        return;
    good = !send->pack || deferred_send_pack(send, &err) == 0;
    if (!good)
        request_complete(send, MPI_ERR_OTHER, "%s", err.text);
    if (!send->packing)
        deferred_send_release(send, good);
}

void stream_message_start(void *what)
{
    struct gpubind_operation *operation = what;

    operation->order = ORDER_DONE;
    operation->started = clock_seconds();
    if (operation->kind == REQUEST_SEND)
        start_send(operation);
    else
        receive_again(operation);
}

/* Its sender, which may wait for it, gets rid of the message, as of one that does not fit. */
static void let_come(struct gpubind_operation *receive)
{
    receive->nbytes = 0;
    receive->started = clock_seconds();
    receive_again(receive);
}

/* Its message was announced, or another was matched with it already. */
void stream_message_fail(void *what)
{
    struct gpubind_operation *operation = what;

    operation->order = ORDER_DONE;
    if (operation->kind == REQUEST_SEND && !operation->done) {
        request_complete(operation, MPI_ERR_OTHER, "the stream cannot be used");
        deferred_send_release(operation, false);
    } else if (operation->kind == REQUEST_RECEIVE && stream_receive_cancel(operation)) {
        let_come(operation);
    } else if (operation->kind == REQUEST_RECEIVE) {
        receive_again(operation);
    }
}

bool stream_message_end(struct gpubind_operation *operation, int *result, struct gpubind_error *err)
{
    *result = operation->result;
    *err = operation->error;
    request_free(operation);
    return true;
}

bool stream_message_is_over(void *what, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *operation = what;

    if (!operation->done && operation->kind == REQUEST_SEND)
        send_shm_nudge(operation);
    else if (!operation->done)
        stream_receive_progress(operation);
    if (!operation->done || operation->packing) /* its buffer is being read */
        return false;
    *result = operation->result;
    *err = operation->error;
    if (pack_finish(operation, err) < 0)
        *result = MPI_ERR_OTHER;
    request_free(operation);
    return true;
}

static void look_after(void *what)
{
    struct gpubind_operation *operation = what;

    if (!operation->done && operation->order != ORDER_DEFERRED)
        operation->ops->look_after(operation);
}

/* Nobody will send what was not announced by now. */
void stream_message_give_up(struct gpubind_operation *operation, int tag)
{
    if (operation->kind != REQUEST_RECEIVE || operation->done || operation->early ||
        operation->held || !stream_receive_cancel(operation) || !match_withdraw(operation))
        return;
    request_complete(operation, MPI_ERR_OTHER,
                     "nobody sent a message for a receive from rank %d "
                     "with tag %d before the end of the library",
                     operation->rank, tag);
}

static void give_up(void *what)
{
    struct gpubind_operation *operation = what;

    stream_message_give_up(operation, operation->tag);
}

void stream_message_break(void *what)
{
    struct gpubind_operation *operation = what;

    operation->result = MPI_ERR_OTHER;
    error_set(&operation->error, "the stream cannot be used");
}

void stream_message_open_gate(struct gpubind_operation *operation, const struct stream_gate *its)
{
    _Atomic uint32_t *came = stream_flag_of(operation->domain, operation->peer->local, its->came);

    if (!came || !peer_check(operation->domain, operation->peer))
        return;
    operation->result = MPI_ERR_OTHER;
    error_set(&operation->error, "rank %d is gone",
              operation->kind == REQUEST_SEND ? operation->rank : operation->source);
    if ((int32_t)(atomic_load(came) - its->came_value) < 0)
        atomic_store(came, its->came_value);
}

const struct stream_work_ops stream_message_ops = {
    stream_message_start, stream_message_fail, stream_message_is_over, look_after, give_up,
};

static bool has_remote_ranks(const struct comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        if (comm->domain->peers[comm->domain_ranks[i]].local < 0)
            return true;
    return false;
}

/* What needs MPI is moved by a thread of ours, or not at all. */
int stream_message_check(const struct gpubind_operation *operation, struct gpubind_error *err)
{
    static const char needs[] = "messages on streams need MPI_THREAD_MULTIPLE there, and MPI was "
                                "initialised with less";

    if (progress_thread_has_mpi() || operation->rank == MPI_PROC_NULL)
        return 0;
    if (operation->peer && operation->peer->local < 0)
        return error_set(err, "rank %d is reached by MPI: %s", operation->rank, needs);
    if (!operation->peer && has_remote_ranks(operation->comm))
        return error_set(err, "a message from any source may come by MPI: %s", needs);
    return 0;
}

static void prepare_peer(const struct gpubind_operation *operation, const struct peer *peer)
{
    transports_prepare(operation->domain, peer, &operation->memory);
    if (peer->local >= 0)
        stream_flags_prepare(operation->domain, peer->local, operation->memory.gpu);
}

void stream_message_prepare(const struct gpubind_operation *operation)
{
    struct domain *domain = operation->domain;

    if (!operation->memory.gpu || operation->rank == MPI_PROC_NULL)
        return;
    pack_prepare(operation);
    for (int i = 0; i < domain->size && !operation->peer; i++)
        prepare_peer(operation, &domain->peers[i]);
    if (operation->peer)
        prepare_peer(operation, operation->peer);
}
