#include "aware/coll/coll_moves.h"

#include <stdio.h>
#include <string.h>

#include "aware/base/next.h"
#include "aware/memory/typed.h"
#include "aware/message/direct_memory.h"

/* Of a broadcast: from here on the root sends each rank its part, and the ranks send these to each other;
 * so no link has more than twice the data. */
#define SCATTERED ((size_t)1 << 20)
#define PIECE ((size_t)1 << 30) /* counts are int */
#define ALIGNMENT 512

static bool is_empty(const struct coll_move *move)
{
    int size = 0;

    if (move->count > 0)
        PMPI_Type_size(move->type, &size);
    return size == 0;
}

static int first_error(const struct coll_comm *comm, int n, int result)
{
    for (int i = 0; result == MPI_ERR_IN_STATUS && i < n; i++)
        if (comm->statuses[i].MPI_ERROR != MPI_SUCCESS &&
            comm->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            return comm->statuses[i].MPI_ERROR;
    return result;
}

/* The first move between this rank and itself, with that tag. -1: there is none. */
static int own_move(const struct coll_comm *comm, const struct coll_move *moves, int n, int tag)
{
    for (int i = 0; i < n; i++)
        if (moves[i].peer == comm->rank && moves[i].tag == tag)
            return i;
    return -1;
}

/* The others stay in their order. */
static void leave_out(struct coll_move *moves, int *n, int which)
{
    --*n;
    memmove(&moves[which], &moves[which + 1], (size_t)(*n - which) * sizeof *moves);
}

static size_t bytes_at(const struct coll_move *move, char **start)
{
    const struct typed typed = typed_at(move->at, 0, move->count, move->type);

    return typed_is_contiguous(&typed, start) ? (size_t)typed_bytes(&typed) : 0;
}

/* What a rank has for itself (first) needs no message, and is none of the nsends and nreceives any more then. */
struct own_copy {
    struct coll_move send, receive;
    char *from, *to;
    size_t nbytes; /* 0: there is none */
};

static void take_own(struct coll_comm *comm, int *nsends, int *nreceives, struct own_copy *own)
{
    int send = 0, receive;

    own->nbytes = 0;
    while (send < *nsends && comm->sends[send].peer != comm->rank)
        send++;
    receive = send < *nsends ? own_move(comm, comm->receives, *nreceives, comm->sends[send].tag)
                             : -1;
    if (receive < 0)
        return;
    own->send = comm->sends[send];
    own->receive = comm->receives[receive];
    own->nbytes = bytes_at(&own->send, &own->from);
    if (own->nbytes != bytes_at(&own->receive, &own->to))
        own->nbytes = 0;
    if (own->nbytes == 0)
        return;
    leave_out(comm->sends, nsends, send);
    leave_out(comm->receives, nreceives, receive);
}

static int post_receive(struct coll_comm *comm, const struct coll_move *move, int *n)
{
    return is_empty(move) ? MPI_SUCCESS
                          : PMPI_Irecv(move->at, (int)move->count, move->type, move->peer,
                                       move->tag, comm->own, &comm->requests[(*n)++]);
}

static int post_send(struct coll_comm *comm, const struct coll_move *move, int *n)
{
    return is_empty(move) ? MPI_SUCCESS
                          : PMPI_Isend(move->at, (int)move->count, move->type, move->peer,
                                       move->tag, comm->own, &comm->requests[(*n)++]);
}

/* *n requests are started. */
static int post(struct coll_comm *comm, int nsends, int nreceives, int *n)
{
    int result = coll_own_comm(comm) ? MPI_SUCCESS : MPI_ERR_OTHER;

    for (int i = 0; result == MPI_SUCCESS && i < nreceives; i++)
        result = post_receive(comm, &comm->receives[i], n);
    for (int i = 0; result == MPI_SUCCESS && i < nsends; i++)
        result = post_send(comm, &comm->sends[i], n);
    return result;
}

/* The rank's own copy goes on beside the messages, which others wait for, or is one of them. */
static int exchange(struct coll_comm *comm, int nsends, int nreceives)
{
    struct direct_copy copy;
    struct own_copy own;
    bool copies;
    int n = 0, result;

    take_own(comm, &nsends, &nreceives, &own);
    result = post(comm, nsends, nreceives, &n);
    copies = result == MPI_SUCCESS && own.nbytes > 0 &&
             direct_copy_start_own(&copy, own.from, own.to, own.nbytes);
    if (result == MPI_SUCCESS && own.nbytes > 0 && !copies)
        result = post_receive(comm, &own.receive, &n);
    if (result == MPI_SUCCESS && own.nbytes > 0 && !copies)
        result = post_send(comm, &own.send, &n);
    if (result != MPI_SUCCESS)
        return result; /* what was started has no end: others may have failed, too */
    result = first_error(comm, n, PMPI_Waitall(n, comm->requests, comm->statuses));
    if (!copies || direct_copy_wait(&copy) == 0)
        return result;
    fprintf(stderr, "gpubind: a collective call's copy within GPU memory has failed\n");
    return MPI_ERR_OTHER;
}

int coll_exchange(struct coll_comm *comm, int nsends, int nreceives)
{
    int result;

    direct_look_begin();
    result = exchange(comm, nsends, nreceives);
    direct_look_end();
    return result;
}

/* ---- broadcast */

static struct coll_move bytes(char *at, size_t nbytes, int peer)
{
    return (struct coll_move){at, (MPI_Count)nbytes, MPI_BYTE, peer, 0};
}

static int from_root(struct coll_comm *comm, char *at, size_t nbytes, int root)
{
    int n = 0;

    if (comm->rank != root) {
        comm->receives[0] = bytes(at, nbytes, root);
        return coll_exchange(comm, 0, 1);
    }
    for (int i = 0; i < comm->size; i++)
        if (i != root)
            comm->sends[n++] = bytes(at, nbytes, i);
    return coll_exchange(comm, n, 0);
}

/* The part of a rank; the root has none. */
static struct coll_move part_of(const struct coll_comm *comm, char *at, size_t nbytes, int root,
                                int rank, int peer)
{
    const size_t parts = (size_t)comm->size - 1, i = (size_t)(rank < root ? rank : rank - 1);
    const size_t each = (nbytes / parts + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    const size_t start = i * each < nbytes ? i * each : nbytes;

    return bytes(at + start, nbytes - start < each ? nbytes - start : each, peer);
}

static int scattered(struct coll_comm *comm, char *at, size_t nbytes, int root)
{
    int nsends = 0, nreceives = 0, result;

    for (int i = 0; i < comm->size; i++)
        if (comm->rank == root && i != root)
            comm->sends[nsends++] = part_of(comm, at, nbytes, root, i, i);
    if (comm->rank != root)
        comm->receives[nreceives++] = part_of(comm, at, nbytes, root, comm->rank, root);
    result = coll_exchange(comm, nsends, nreceives);
    if (result != MPI_SUCCESS || comm->rank == root)
        return result;
    nsends = nreceives = 0;
    for (int i = 0; i < comm->size; i++) {
        if (i == root || i == comm->rank)
            continue;
        comm->sends[nsends++] = part_of(comm, at, nbytes, root, comm->rank, i);
        comm->receives[nreceives++] = part_of(comm, at, nbytes, root, i, i);
    }
    return coll_exchange(comm, nsends, nreceives);
}

int coll_broadcast(struct coll_comm *comm, char *at, size_t nbytes, int root)
{
    int result = MPI_SUCCESS;

    direct_look_begin();
    for (size_t done = 0; result == MPI_SUCCESS && done < nbytes; done += PIECE) {
        const size_t n = nbytes - done < PIECE ? nbytes - done : PIECE;

        result = comm->size > 2 && n >= SCATTERED ? scattered(comm, at + done, n, root)
                                                  : from_root(comm, at + done, n, root);
    }
    direct_look_end();
    return result;
}
