#include "aware/coll/coll_direct.h"

#include <stdlib.h>

#include "aware/base/counts.h"
#include "aware/base/next.h"
#include "aware/base/start.h"
#include "aware/coll/coll_moves.h"
#include "aware/coll/coll_nccl.h"
#include "aware/coll/coll_ways.h"
#include "aware/coll/neighbours.h"
#include "aware/memory/typed.h"

/* Bytes from which agreeing, and going directly, takes less time than through host memory. */
#define LEAST_BLOCK 32768  /* from one rank to one other */
#define LEAST_WHOLE 8192   /* of a broadcast or a reduction */
#define LEAST_OF_ALL 32768 /* that a rank sends and receives */
/* Bytes of reductions after which NCCL is started, which takes some tenths of a second and some hundred
 * MiB of the GPU. */
#define REDUCED_BEFORE_NCCL ((uint64_t)16 << 20)

/* NCCL, or what it calls, may call MPI. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/* ---- who agrees */

static bool has_root(const struct coll *coll, const struct coll_comm *comm)
{
    return coll->root == NO_ROOT || (coll->root >= 0 && coll->root < comm->size);
}

static bool gets_all(const struct coll *coll, const struct coll_comm *comm)
{
    return coll->root == NO_ROOT || coll->root == comm->rank;
}

/* Of an intercommunicator: MPI_ROOT or MPI_PROC_NULL, where some arguments may be anything. */
static bool is_beside(const struct coll *coll)
{
    return coll->root < 0 && coll->root != NO_ROOT;
}

/* NULL: it is not large, or the ranks do not agree on anything. n of type: what all know. */
static struct coll_comm *large(const struct coll *coll, MPI_Count n, MPI_Datatype type,
                               MPI_Count least)
{
    return !is_behind && !is_inside && !is_beside(coll) && aware_is_on() &&
                   elements_bytes(n, type) >= least
               ? coll_comm(coll->comm)
               : NULL;
}

/* A call whose ranks know of their own blocks alone. Who has little keeps the others from going
 * directly, but not who has nothing. */
static bool is_worth(MPI_Count nbytes)
{
    return nbytes == 0 || nbytes >= LEAST_OF_ALL;
}

/* ---- data that is moved */

static bool agree_to_move(const struct coll *coll, struct coll_comm *comm, bool yes)
{
    if (!coll_agree(comm, yes) || !coll_prepare_own(comm))
        return false;
    count_one(COUNT_MOVED);
    coll->call->event.path = TRACE_DIRECT;
    return true;
}

bool coll_direct_bcast(const struct coll *coll, int *result, void *buf, MPI_Count count,
                       MPI_Datatype type)
{
    struct coll_comm *comm = large(coll, count, type, LEAST_WHOLE);
    const struct typed typed = typed_at(buf, 0, count, type);
    char *start = buf;

    if (!comm || !agree_to_move(coll, comm,
                                has_root(coll, comm) && typed_is_contiguous(&typed, &start) &&
                                    elements_are_on_gpu(buf, count, type)))
        return false;
    *result = coll_broadcast(comm, start, (size_t)elements_bytes(count, type), coll->root);
    return true;
}

/* NULL: as above. blocks: some that are as large as those of the other ranks, unless they vary. */
static struct coll_comm *moved(const struct coll *coll, const struct coll_blocks *blocks)
{
    return blocks->varies ? large(coll, 0, MPI_BYTE, 0)
                          : large(coll, blocks->n, blocks->type, LEAST_BLOCK);
}

static int all_blocks(struct coll_move *moves, const struct coll_blocks *blocks,
                      const struct coll_comm *comm, int except)
{
    int n = 0;

    for (int i = 0; i < comm->size; i++)
        if (i != except)
            moves[n++] = block_at(blocks, i);
    return n;
}

static struct coll_move to(struct coll_move move, int peer)
{
    move.peer = peer;
    return move;
}

/* The same block to the root, or to all. */
static int to_getters(const struct coll *coll, struct coll_comm *comm, struct coll_move mine,
                      bool in_place)
{
    int n = 0;

    for (int i = 0; i < comm->size; i++)
        if ((coll->root == NO_ROOT || coll->root == i) && !(in_place && i == comm->rank))
            comm->sends[n++] = to(mine, i);
    return n;
}

static struct coll_move first(const struct coll_blocks *send)
{
    return (struct coll_move){address_at(send->at, 0), send->n, send->type, 0, 0};
}

bool coll_direct_gather(const struct coll *coll, int *result, struct coll_blocks send,
                        struct coll_blocks recv)
{
    const bool in_place = send.at == MPI_IN_PLACE;
    struct coll_comm *comm;
    bool gets, yes;
    int nsends, nreceives = 0;
    MPI_Count mine;

    comm = moved(coll, recv.varies || in_place ? &recv : &send);
    if (!comm)
        return false;
    gets = gets_all(coll, comm);
    mine = in_place ? 0 : elements_bytes(send.n, send.type);
    yes = has_root(coll, comm) && mine >= 0 &&
          (in_place || elements_are_on_gpu(send.at, send.n, send.type)) &&
          (!gets || (blocks_bytes(&recv, comm->size) >= 0 && blocks_are_on_gpu(&recv, comm->size)));
    if (yes && recv.varies)
        yes = is_worth(mine + (gets ? blocks_bytes(&recv, comm->size) : 0));
    if (!agree_to_move(coll, comm, yes))
        return false;
    nsends = to_getters(coll, comm, in_place ? block_at(&recv, comm->rank) : first(&send),
                        in_place);
    if (gets)
        nreceives = all_blocks(comm->receives, &recv, comm, in_place ? comm->rank : -1);
    *result = coll_exchange(comm, nsends, nreceives);
    return true;
}

bool coll_direct_scatter(const struct coll *coll, int *result, struct coll_blocks send,
                         struct coll_blocks recv)
{
    const bool in_place = recv.at == MPI_IN_PLACE;
    struct coll_comm *comm = moved(coll, send.varies || in_place ? &send : &recv);
    bool gives, yes;
    int nsends = 0, nreceives = 0;
    MPI_Count mine;

    if (!comm)
        return false;
    gives = coll->root == comm->rank;
    mine = in_place ? 0 : elements_bytes(recv.n, recv.type);
    yes = has_root(coll, comm) && mine >= 0 &&
          (in_place || elements_are_on_gpu(recv.at, recv.n, recv.type)) &&
          (!gives ||
           (blocks_bytes(&send, comm->size) >= 0 && blocks_are_on_gpu(&send, comm->size)));
    if (yes && send.varies)
        yes = is_worth(mine + (gives ? blocks_bytes(&send, comm->size) : 0));
    if (!agree_to_move(coll, comm, yes))
        return false;
    if (gives)
        nsends = all_blocks(comm->sends, &send, comm, in_place ? comm->rank : -1);
    if (!in_place)
        comm->receives[nreceives++] = to(first(&recv), coll->root);
    *result = coll_exchange(comm, nsends, nreceives);
    return true;
}

bool coll_direct_alltoall(const struct coll *coll, int *result, struct coll_blocks send,
                          struct coll_blocks recv)
{
    struct coll_comm *comm = moved(coll, &recv);
    MPI_Count out, in;
    bool yes;

    if (!comm)
        return false;
    yes = send.at != MPI_IN_PLACE;
    if (yes) {
        out = blocks_bytes(&send, comm->size);
        in = blocks_bytes(&recv, comm->size);
        yes = out >= 0 && in >= 0 && (!recv.varies || is_worth(out + in)) &&
              blocks_are_on_gpu(&send, comm->size) && blocks_are_on_gpu(&recv, comm->size);
    }
    if (!agree_to_move(coll, comm, yes))
        return false;
    *result = coll_exchange(comm, all_blocks(comm->sends, &send, comm, -1),
                            all_blocks(comm->receives, &recv, comm, -1));
    return true;
}

/* ---- neighbours */

/* The blocks of neighbours, but for those that are none; mirrored: a block's tag is that of the one it becomes,
 * from the other direction of a Cartesian topology, in which both neighbours may be one rank. Adds their bytes
 * to *nbytes. The number of them; -1: this rank does not say yes. */
static int find_moves(struct coll_move *moves, const struct coll_blocks *blocks, const int ranks[],
                      int nranks, int tags, int mirrored, MPI_Count *nbytes)
{
    int n = 0;

    for (int i = 0; i < nranks; i++) {
        if (ranks[i] == MPI_PROC_NULL)
            continue;
        if (!block_has_type(blocks, i))
            return -1;
        moves[n] = block_at(blocks, i);
        if (!elements_are_on_gpu(moves[n].at, moves[n].count, moves[n].type))
            return -1;
        *nbytes += elements_bytes(moves[n].count, moves[n].type);
        moves[n].peer = ranks[i];
        moves[n++].tag = tags * (i ^ mirrored);
    }
    return n;
}

/* Small blocks, and those of host memory, are the MPI's to put somewhere. */
static bool are_put_alike(MPI_Comm comm, const struct coll_blocks *send, const int ranks[], int in,
                          int out)
{
    const enum neighbours_call call = send->types    ? NEIGHBOURS_ALLTOALLW
                                      : send->varies ? NEIGHBOURS_ALLTOALLV
                                                     : NEIGHBOURS_ALLTOALL;

    return send->alike || (neighbours_are_as_mpi_has_them(comm, call, ranks, in) &&
                           neighbours_are_as_mpi_has_them(comm, call, ranks + in, out));
}

bool coll_direct_neighbours(const struct coll *coll, int *result, struct coll_blocks send,
                            struct coll_blocks recv)
{
    struct coll_comm *comm = large(coll, 0, MPI_BYTE, 0);
    int in, out, nsends = -1, nreceives = -1, *ranks;
    MPI_Count nbytes = 0;

    if (!comm)
        return false;
    neighbours_count(coll->comm, &in, &out);
    ranks = malloc(((size_t)in + (size_t)out + 1) * sizeof *ranks);
    if (ranks && coll_make_room(comm, (size_t)(in > out ? in : out)) &&
        neighbours_list(coll->comm, in, ranks, out, ranks + in) == MPI_SUCCESS &&
        are_put_alike(coll->comm, &send, ranks, in, out)) {
        const int tags = neighbours_are_opposite(coll->comm);

        nsends = find_moves(comm->sends, &send, ranks + in, out, tags, tags, &nbytes);
        nreceives = find_moves(comm->receives, &recv, ranks, in, tags, 0, &nbytes);
    }
    free(ranks);
    if (!agree_to_move(coll, comm, nsends >= 0 && nreceives >= 0 && is_worth(nbytes)))
        return false;
    *result = coll_exchange(comm, nsends, nreceives);
    return true;
}

/* ---- reductions */

static bool is_started(struct coll_comm *comm, MPI_Count nbytes, const void *gpu)
{
    comm->reduced += (uint64_t)nbytes;
    if (!comm->nccl && (comm->reduced >= REDUCED_BEFORE_NCCL || coll_ways().at_once))
        nccl_start(comm, gpu);
    return comm->nccl != NULL;
}

/* What the only rank gives is the result. */
static bool reduce_alone(const struct coll *coll, struct coll_comm *comm, int *result, MPI_Count n,
                         const struct nccl_reduction *r)
{
    const bool in_place = r->send == MPI_IN_PLACE;

    if (!agree_to_move(coll, comm,
                       has_root(coll, comm) && nccl_knows(r->type, r->op) &&
                           elements_are_on_gpu(r->recv, n, r->type) &&
                           (in_place || elements_are_on_gpu(r->send, n, r->type))))
        return false;
    if (!in_place) {
        comm->sends[0] = (struct coll_move){(void *)(uintptr_t)r->send, n, r->type, 0, 0};
        comm->receives[0] = (struct coll_move){r->recv, n, r->type, 0, 0};
    }
    *result = in_place ? MPI_SUCCESS : coll_exchange(comm, 1, 1);
    return true;
}

static bool can_reduce(const struct coll *coll, const struct coll_comm *comm, MPI_Count nsend,
                       MPI_Count nrecv, const struct nccl_reduction *r)
{
    return has_root(coll, comm) && nccl_knows(r->type, r->op) &&
           elements_are_on_gpu(r->send, nsend, r->type) &&
           (!gets_all(coll, comm) || elements_are_on_gpu(r->recv, nrecv, r->type)) &&
           nccl_takes(comm, r->send, r->recv);
}

/* r.count: alike on all ranks. */
static bool reduce(const struct coll *coll, int *result, MPI_Count nsend, MPI_Count nrecv,
                   struct nccl_reduction r)
{
    struct coll_comm *comm = large(coll, r.count, r.type, LEAST_WHOLE);
    bool turn, agreed;

    if (comm && comm->size == 1)
        return reduce_alone(coll, comm, result, nsend, &r);
    if (!comm || !coll_ways().nccl || comm->nccl_failed)
        return false;
    if (r.send == MPI_IN_PLACE)
        r.send = r.recv;
    if (!gets_all(coll, comm))
        r.recv = NULL;
    r.root = coll->root;
    turn = nccl_turn_take();
    agreed = coll_agree(comm, turn && can_reduce(coll, comm, nsend, nrecv, &r)) &&
             is_started(comm, elements_bytes(r.count, r.type), r.send);
    if (agreed) {
        coll->call->event.path = TRACE_NCCL;
        is_inside = true;
        *result = nccl_reduce(comm, &r);
        is_inside = false;
    }
    if (turn)
        nccl_turn_give();
    return agreed;
}

bool coll_direct_reduce(const struct coll *coll, int *result, const void *send, void *recv,
                        MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    return reduce(coll, result, count, count,
                  (struct nccl_reduction){coll->root == NO_ROOT ? NCCL_ALLREDUCE : NCCL_REDUCE,
                                          send, recv, count, type, op, 0});
}

bool coll_direct_reduce_scatter(const struct coll *coll, int *result, const void *send, void *recv,
                                MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    int size = 1;

    if (send == MPI_IN_PLACE) /* on all ranks alike */
        return false;
    PMPI_Comm_size(coll->comm, &size);
    return reduce(coll, result, count * size, count,
                  (struct nccl_reduction){NCCL_REDUCE_SCATTER, send, recv, count, type, op, 0});
}
