/* Commands of windows: which ranks need them, and what origin and target share. */
#include "mpi/rma/window_am.h"

#include <stdlib.h>

#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/p2p/send_net.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/p2p/transports.h"

/* ---- messages */

struct gpubind_operation *window_message(const struct gpubind_window *win, enum request_kind kind,
                                         int rank, int tag, const struct memory *memory,
                                         uint64_t nbytes)
{
    struct comm *comm = win->remote->comm;
    struct gpubind_operation *operation = request_make(kind);

    if (!operation) /* the peer waits for the message */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    request_attach(operation, comm);
    operation->rank = rank;
    operation->peer = &comm->domain->peers[comm->domain_ranks[rank]];
    operation->tag = tag;
    operation->memory = *memory;
    operation->buffer = (void *)(uintptr_t)memory->address;
    operation->nbytes = nbytes;
    operation->on_stream = true;
    operation->started = clock_seconds();
    return operation;
}

struct gpubind_operation *window_host_message(const struct gpubind_window *win,
                                              enum request_kind kind, int rank, int tag, void *at,
                                              uint64_t nbytes)
{
    const struct memory memory = {.address = (gpu_address)(uintptr_t)at};

    return window_message(win, kind, rank, tag, &memory, nbytes);
}

void window_send(struct gpubind_operation *send)
{
    if (send->peer->local >= 0)
        send_shm(send);
    else
        send_net(send);
}

void window_look_after(struct gpubind_operation *operation)
{
    if (operation && !operation->done && request_peer_is_gone(operation))
        operation->ops->look_after(operation);
}

int window_data_tag(const struct window_command *command)
{
    return (int)(command->number % (1u << 30) * 2);
}

int window_reply_tag(const struct window_command *command)
{
    return window_data_tag(command) + 1;
}

/* ---- which ranks need this */

bool window_is_out_of_reach(const struct gpubind_window *win, int rank)
{
    const struct window_part *part = &win->parts[rank];

    return win->gpu &&
           ((part->nbytes > 0 && !part->data) || (part->nsignals > 0 && !part->signals));
}

bool window_is_idle(const struct gpubind_window *win)
{
    return !win->remote || (win->remote->origin_pending == 0 && win->remote->target_pending == 0);
}

/* true on all ranks: some rank has not mapped another's part. win->remote is allocated then. */
static bool is_needed(struct gpubind_window *win, int *result, struct gpubind_error *err)
{
    struct window_remote *remote = calloc(1, sizeof *remote + (size_t)win->n);
    enum { MAPPED, OUT_OF_REACH, NO_MEMORY };
    int mine = remote ? MAPPED : NO_MEMORY, most = MAPPED;

    for (int rank = 0; rank < win->n; rank++)
        if (mine == MAPPED && window_is_out_of_reach(win, rank))
            mine = OUT_OF_REACH;
    library_unlock();
    PMPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, win->own_comm);
    library_lock();
    *result = MPI_SUCCESS;
    if (most == OUT_OF_REACH) {
        win->remote = remote;
        return true;
    }
    free(remote);
    if (most == NO_MEMORY) {
        error_set(err, "out of memory");
        *result = MPI_ERR_OTHER;
    }
    return false;
}

static bool may_move(const struct gpubind_window *win, int rank, bool multiple)
{
    const struct comm *comm = win->remote->comm;

    return multiple || comm->domain->peers[comm->domain_ranks[rank]].local >= 0;
}

/* For the messages that carry the data of commands: from and to memory of any kind. */
static void prepare(struct gpubind_window *win, int rank)
{
    const struct comm *comm = win->remote->comm;
    const struct memory any = {.gpu = win->gpu};

    if (win->gpu)
        transports_prepare(comm->domain, &comm->domain->peers[comm->domain_ranks[rank]], &any);
}

/* Finds out which ranks send commands to this rank, and which accept this rank's. */
static int learn(struct gpubind_window *win, struct gpubind_error *err)
{
    enum { NEEDS = 1, MULTIPLE = 2 };
    struct window_remote *remote = win->remote;
    unsigned char *out = calloc(2, (size_t)win->n), *in;
    int level;

    if (!out)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM); /* the other ranks wait in the call below */
    in = out + win->n;
    PMPI_Query_thread(&level);
    for (int rank = 0; rank < win->n; rank++)
        out[rank] = (unsigned char)((window_is_out_of_reach(win, rank) ? NEEDS : 0) |
                                    (level == MPI_THREAD_MULTIPLE ? MULTIPLE : 0));
    library_unlock();
    PMPI_Alltoall(out, 1, MPI_BYTE, in, 1, MPI_BYTE, win->own_comm);
    library_lock();
    for (int rank = 0; rank < win->n; rank++) {
        remote->accepts[rank] = may_move(win, rank, in[rank] & out[rank] & MULTIPLE);
        remote->origins += in[rank] & NEEDS && remote->accepts[rank];
        if ((in[rank] | out[rank]) & NEEDS)
            prepare(win, rank);
    }
    free(out);
    if (remote->origins == 0 || window_target_start(err) == 0)
        return MPI_SUCCESS;
    remote->origins = 0;
    return MPI_ERR_OTHER;
}

int window_remote_begin(struct gpubind_window *win, struct gpubind_error *err)
{
    int result;

    if (!is_needed(win, &result, err))
        return result;
    result = comm_attach(win->own_comm, library_settings(), err);
    if (result != MPI_SUCCESS)
        return result;
    win->remote->comm = comm_of(win->own_comm);
    win->remote->comm->window = win;
    return learn(win, err);
}

void window_remote_give_up(struct gpubind_window *win)
{
    if (!win->remote || win->remote->origins == 0)
        return;
    win->remote->origins = 0;
    window_target_stop();
}

void window_remote_end(struct gpubind_window *win)
{
    struct window_remote *remote = win->remote;

    if (!remote)
        return;
    window_remote_give_up(win);
    if (remote->comm)
        remote->comm->window = NULL;
    free(remote);
    win->remote = NULL;
}
