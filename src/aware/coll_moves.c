#include "aware/coll_moves.h"

#include <stdio.h>

#include "aware/direct_memory.h"
#include "aware/next.h"
#include "aware/typed.h"

#define TAG 0
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

/* The move between this rank and itself. -1: there is none. */
static int own_move(const struct coll_comm *comm, const struct coll_move *moves, int n)
{
    for (int i = 0; i < n; i++)
        if (moves[i].peer == comm->rank)
            return i;
    return -1;
}

static size_t bytes_at(const struct coll_move *move, char **start)
{
    const struct typed typed = {move->at, move->count, move->type, false};

    return typed_is_contiguous(&typed, start) ? (size_t)typed_bytes(&typed) : 0;
}

/* What a rank has for itself needs no message. The copy goes on beside those from the others. Both moves
 * are none of nsends and nreceives any more, then. */
static bool start_own_copy(struct coll_comm *comm, int *nsends, int *nreceives,
                           struct direct_copy *copy)
{
    const int send = own_move(comm, comm->sends, *nsends);
    const int receive = own_move(comm, comm->receives, *nreceives);
    char *from, *to;
    size_t nbytes;

    if (send < 0 || receive < 0)
        return false;
    nbytes = bytes_at(&comm->sends[send], &from);
    if (nbytes == 0 || nbytes != bytes_at(&comm->receives[receive], &to) ||
        !direct_copy_start_own(copy, from, to, nbytes))
        return false;
    comm->sends[send] = comm->sends[--*nsends];
    comm->receives[receive] = comm->receives[--*nreceives];
    return true;
}

static int exchange(struct coll_comm *comm, int nsends, int nreceives)
{
    int n = 0, result = coll_own_comm(comm) ? MPI_SUCCESS : MPI_ERR_OTHER, waited;

    for (int i = 0; result == MPI_SUCCESS && i < nreceives; i++) {
        const struct coll_move *move = &comm->receives[i];

        if (!is_empty(move))
            result = PMPI_Irecv(move->at, (int)move->count, move->type, move->peer, TAG, comm->own,
                                &comm->requests[n++]);
    }
    for (int i = 0; result == MPI_SUCCESS && i < nsends; i++) {
        const struct coll_move *move = &comm->sends[i];

        if (!is_empty(move))
            result = PMPI_Isend(move->at, (int)move->count, move->type, move->peer, TAG, comm->own,
                                &comm->requests[n++]);
    }
    if (result != MPI_SUCCESS)
        return result; /* what was started has no end: others may have failed, too */
    waited = PMPI_Waitall(n, comm->requests, comm->statuses);
    return first_error(comm, n, waited);
}

int coll_exchange(struct coll_comm *comm, int nsends, int nreceives)
{
    struct direct_copy copy;
    const bool copies = start_own_copy(comm, &nsends, &nreceives, &copy);
    const int result = exchange(comm, nsends, nreceives);

    if (!copies || direct_copy_wait(&copy) == 0)
        return result;
    fprintf(stderr, "gpubind: a collective call's copy within GPU memory has failed\n");
    return MPI_ERR_OTHER;
}

/* ---- broadcast */

static struct coll_move bytes(char *at, size_t nbytes, int peer)
{
    return (struct coll_move){at, (MPI_Count)nbytes, MPI_BYTE, peer};
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

    for (size_t done = 0; result == MPI_SUCCESS && done < nbytes; done += PIECE) {
        const size_t n = nbytes - done < PIECE ? nbytes - done : PIECE;

        result = comm->size > 2 && n >= SCATTERED ? scattered(comm, at + done, n, root)
                                                  : from_root(comm, at + done, n, root);
    }
    return result;
}
