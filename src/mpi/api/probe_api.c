/* The calls that look at messages before they are received, and the one that receives
 * what it saw into new memory. */
#include "mpi/api/probe_api.h"

#include "mpi/core/context.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/progress.h"
#include "mpi/datatype/type_cache.h"
#include "mpi/p2p/device_memory.h"
#include "mpi/p2p/incoming.h"
#include "mpi/p2p/message.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/p2p/wait_notice.h"

static bool is_there(const void *argument)
{
    const struct looking *looking = argument;

    return match_peek(looking->comm, looking->source, looking->tag);
}

static void describe(const struct wire_header *header, struct gpubind_message *message)
{
    message->source = header->source;
    message->tag = header->tag;
    message->on_gpu = (header->flags & WIRE_ON_GPU) != 0;
    message->type = type_numbered(header->type);
    message->count = (MPI_Count)(header->nbytes / type_numbered_size(header->type));
    message->nbytes = (MPI_Count)header->nbytes;
}

static void describe_nothing(struct gpubind_message *message)
{
    *message = (struct gpubind_message){MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_BYTE, 0, 0};
}

static int check(const struct looking *looking, struct gpubind_error *err)
{
    if (looking->source != MPI_ANY_SOURCE && looking->source != MPI_PROC_NULL &&
        (looking->source < 0 || looking->source >= looking->comm->size)) {
        error_set(err, "the source is rank %d of a communicator of %d", looking->source,
                  looking->comm->size);
        return MPI_ERR_RANK;
    }
    if (looking->tag != MPI_ANY_TAG &&
        (looking->tag < 0 || looking->tag > looking->comm->tag_most)) {
        error_set(err, "the tag is %d, not 0 to %d", looking->tag, looking->comm->tag_most);
        return MPI_ERR_TAG;
    }
    return MPI_SUCCESS;
}

/* The rank that a message is waited for from, or one of any, is gone. */
static bool is_lost(const struct looking *looking, struct gpubind_error *err)
{
    const struct comm *comm = looking->comm;
    const bool any = looking->source == MPI_ANY_SOURCE;
    const int lost = any ? comm_lost_rank(comm) : looking->source;

    if (lost < 0 || (!any && !peer_is_gone(comm->domain,
                                           &comm->domain->peers[comm->domain_ranks[lost]])))
        return false;
    incoming_read_all();
    if (is_there(looking))
        return false;
    if (any)
        comm_lost_told(looking->comm, lost);
    error_set(err, "rank %d is gone", lost);
    return true;
}

static int await(const struct looking *looking, struct gpubind_error *err)
{
    const double since = clock_seconds();

    while (!progress_wait_for(is_there, looking, 0.1)) {
        if (is_lost(looking, err))
            return MPI_ERR_OTHER;
        wait_notice_check_probe(looking->comm, looking->source, looking->tag, since);
    }
    return MPI_SUCCESS;
}

int probe_look(const struct looking *looking, bool wait, int *flag,
               struct gpubind_message *message, struct gpubind_error *err)
{
    int result = check(looking, err);

    *flag = 0;
    if (result != MPI_SUCCESS)
        return result;
    *flag = 1;
    if (looking->source == MPI_PROC_NULL) {
        describe_nothing(message);
        return MPI_SUCCESS;
    }
    if (wait)
        result = await(looking, err);
    else
        progress_poll();
    *flag = is_there(looking);
    if (*flag && result == MPI_SUCCESS)
        describe(&match_peek(looking->comm, looking->source, looking->tag)->header, message);
    return result;
}

static int look_in(MPI_Comm user, int source, int tag, bool wait, int *flag,
                   struct gpubind_message *message, const char *call)
{
    struct gpubind_error err;
    struct looking looking;
    int result;

    library_enter();
    looking = (struct looking){library_comm(user, &result, &err), source, tag};
    if (looking.comm)
        result = probe_look(&looking, wait, flag, message, &err);
    return library_leave(user, result, call, &err);
}

int gpubind_probe(int source, int tag, MPI_Comm comm, struct gpubind_message *message)
{
    int flag;

    return look_in(comm, source, tag, true, &flag, message, "gpubind_probe");
}

int gpubind_iprobe(int source, int tag, MPI_Comm comm, int *flag, struct gpubind_message *message)
{
    return look_in(comm, source, tag, false, flag, message, "gpubind_iprobe");
}

/* Receives the message that was seen: nobody else can, since the lock is not let go
 * between the two. */
static int receive_seen(struct comm *comm, const struct gpubind_message *message, void *buf,
                        struct gpubind_error *err)
{
    struct gpubind_operation *receive = request_make(REQUEST_RECEIVE);

    if (!receive) {
        error_set(err, "out of memory");
        return MPI_ERR_NO_MEM;
    }
    request_attach(receive, comm);
    receive->rank = message->source;
    receive->tag = message->tag;
    receive->buffer = buf;
    receive->nbytes = (uint64_t)message->nbytes;
    if (memory_of(buf, &receive->memory, err) < 0) {
        request_free(receive);
        return MPI_ERR_OTHER;
    }
    match_receive(receive);
    if (!receive->done)
        progress_wait(&receive, 1, false);
    return request_finish(receive, MPI_STATUS_IGNORE, err);
}

static int receive_new(const struct looking *looking, struct comm *comm, void **buf,
                       struct gpubind_message *message, struct gpubind_error *err)
{
    int flag, result = probe_look(looking, true, &flag, message, err);

    if (result != MPI_SUCCESS || message->source == MPI_PROC_NULL)
        return result;
    if (message->nbytes > 0)
        result = memory_allocate(buf, (size_t)message->nbytes, err);
    if (result != MPI_SUCCESS)
        return result;
    result = receive_seen(comm, message, *buf, err);
    if (result != MPI_SUCCESS && *buf) {
        memory_free_later(*buf, NULL);
        *buf = NULL;
    }
    return result;
}

int gpubind_recv_alloc(void **buf, int source, int tag, MPI_Comm user,
                       struct gpubind_message *message)
{
    struct gpubind_message here;
    struct gpubind_error err;
    struct looking looking;
    struct comm *comm;
    int result;

    library_enter();
    *buf = NULL;
    comm = library_comm(user, &result, &err);
    looking = (struct looking){comm, source, tag};
    if (comm)
        result = receive_new(&looking, comm, buf, message ? message : &here, &err);
    return library_leave(user, result, "gpubind_recv_alloc", &err);
}
