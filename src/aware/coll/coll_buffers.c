#include "aware/coll/coll_buffers.h"

#include <stdint.h>
#include <stdlib.h>

#include "aware/coll/neighbours.h"
#include "aware/memory/gpu_buffer.h"

/* ---- who takes part */

static int is_inter(MPI_Comm comm)
{
    int inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    return inter;
}

/* The ranks on the other side of a collective call. */
static int size_of(MPI_Comm comm)
{
    int size = 0;

    if (is_inter(comm))
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

static bool is_root(const struct coll *coll)
{
    int rank;

    if (is_inter(coll->comm))
        return coll->root == MPI_ROOT;
    PMPI_Comm_rank(coll->comm, &rank);
    return rank == coll->root;
}

/* In the group of the root of an intercommunicator, but not the root: it does nothing. */
static bool is_aside(const struct coll *coll)
{
    return coll->root == MPI_PROC_NULL && is_inter(coll->comm);
}

/* The root of an intercommunicator only sends, or only receives. */
static bool is_lone_root(const struct coll *coll)
{
    return coll->root == MPI_ROOT && is_inter(coll->comm);
}

/* ---- parts */

static unsigned later(const struct coll *coll)
{
    return coll->later ? STAGED_LATER : 0;
}

static int begin(struct staged *staged, const struct coll *coll, const void *user, MPI_Count n,
                 MPI_Datatype type, unsigned use)
{
    return staged_begin(staged, user, n, type, use | later(coll));
}

/* One part for each rank. type: of all, displacements in its extents; or types, in bytes. ranks: a part of
 * MPI_PROC_NULL has no bytes; NULL: there is none. */
static int begin_parts(struct staged *staged, const struct coll *coll, const void *user, int n,
                       struct numbers counts, struct numbers displs, MPI_Datatype type,
                       const MPI_Datatype *types, const int *ranks, unsigned use)
{
    struct staged_part *parts = malloc(((size_t)n + 1) * sizeof *parts);
    MPI_Count lb, extent = 1;
    int result;

    if (!parts)
        return MPI_ERR_NO_MEM;
    if (!types && type != MPI_DATATYPE_NULL)
        PMPI_Type_get_extent_x(type, &lb, &extent);
    for (int i = 0; i < n; i++)
        parts[i] = (struct staged_part){
            displacement_at(displs, i) * extent,
            ranks && ranks[i] == MPI_PROC_NULL ? 0 : count_at(counts, i), types ? types[i] : type};
    result = staged_begin_parts(staged, user, n, parts, use | later(coll));
    free(parts);
    return result;
}

/* The second buffer: without it the first one goes, too. */
static int both(struct staged b[2], int result)
{
    if (result == MPI_SUCCESS) {
        result = staged_keep_apart(&b[0], &b[1]);
        if (result != MPI_SUCCESS)
            staged_end(&b[1]);
    }
    if (result != MPI_SUCCESS)
        staged_end(&b[0]);
    return result;
}

static unsigned written(const void *send)
{
    return send == MPI_IN_PLACE ? STAGED_READ | STAGED_WRITTEN : STAGED_WRITTEN;
}

static int begin_send(struct staged *staged, const struct coll *coll, const void *send, MPI_Count n,
                      MPI_Datatype type)
{
    if (send != MPI_IN_PLACE)
        return begin(staged, coll, send, n, type, STAGED_READ);
    staged_pass(staged, send);
    return MPI_SUCCESS;
}

/* Both as the application passed them. true: this rank takes part, and they may be GPU memory. */
static bool may_be_staged(struct staged b[2], const struct coll *coll, const void *first,
                          const void *second)
{
    staged_pass(&b[0], first);
    staged_pass(&b[1], second);
    return gpu_is_in_use() && !is_aside(coll);
}

/* ---- the calls */

int coll_bcast(struct staged b[2], const struct coll *coll, void *buf, MPI_Count count,
               MPI_Datatype type)
{
    if (!may_be_staged(b, coll, buf, NULL))
        return MPI_SUCCESS;
    return begin(&b[0], coll, buf, count, type, is_root(coll) ? STAGED_READ : STAGED_WRITTEN);
}

int coll_reduce(struct staged b[2], const struct coll *coll, const void *send, void *recv,
                MPI_Count nsend, MPI_Count nrecv, MPI_Datatype type, bool exscan)
{
    const bool gets = coll->root == NO_ROOT || is_root(coll);
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (!is_lone_root(coll))
        result = begin_send(&b[0], coll, send, nsend, type);
    if (result != MPI_SUCCESS || !gets)
        return result;
    return both(b,
                begin(&b[1], coll, recv, nrecv, type, written(send) | (exscan ? STAGED_READ : 0)));
}

int coll_reduce_scatter(struct staged b[2], const struct coll *coll, const void *send, void *recv,
                        struct numbers counts, MPI_Count nrecv, MPI_Datatype type)
{
    MPI_Count all = 0;
    int rank, size;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    /* Of an intercommunicator's local group: its counts add up to what the other group gives. */
    PMPI_Comm_size(coll->comm, &size);
    PMPI_Comm_rank(coll->comm, &rank);
    for (int i = 0; i < size; i++)
        all += counts.of ? count_at(counts, i) : nrecv;
    if (counts.of)
        nrecv = count_at(counts, rank);
    /* In place the receive buffer has the whole operand. */
    return coll_reduce(b, coll, send, recv, all, send == MPI_IN_PLACE ? all : nrecv, type, false);
}

int coll_gather(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                MPI_Datatype send_type, void *recv, MPI_Count nrecv, MPI_Datatype recv_type)
{
    const bool gets = coll->root == NO_ROOT || is_root(coll);
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (!is_lone_root(coll))
        result = begin_send(&b[0], coll, send, nsend, send_type);
    if (result != MPI_SUCCESS || !gets)
        return result;
    return both(b, begin(&b[1], coll, recv, nrecv * size_of(coll->comm), recv_type, written(send)));
}

int coll_gatherv(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                 MPI_Datatype send_type, void *recv, struct numbers counts, struct numbers displs,
                 MPI_Datatype recv_type)
{
    const bool gets = coll->root == NO_ROOT || is_root(coll);
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (!is_lone_root(coll))
        result = begin_send(&b[0], coll, send, nsend, send_type);
    if (result != MPI_SUCCESS || !gets)
        return result;
    return both(b, begin_parts(&b[1], coll, recv, size_of(coll->comm), counts, displs, recv_type,
                               NULL, NULL, written(send)));
}

/* What every rank but the lone root gets of a scatter. */
static int begin_scattered(struct staged b[2], const struct coll *coll, void *recv, MPI_Count nrecv,
                           MPI_Datatype type)
{
    if (is_lone_root(coll) || recv == MPI_IN_PLACE)
        return MPI_SUCCESS;
    return both(b, begin(&b[1], coll, recv, nrecv, type, STAGED_WRITTEN));
}

int coll_scatter(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                 MPI_Datatype send_type, void *recv, MPI_Count nrecv, MPI_Datatype recv_type)
{
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (is_root(coll))
        result = begin_send(&b[0], coll, send, nsend * size_of(coll->comm), send_type);
    return result == MPI_SUCCESS ? begin_scattered(b, coll, recv, nrecv, recv_type) : result;
}

int coll_scatterv(struct staged b[2], const struct coll *coll, const void *send,
                  struct numbers counts, struct numbers displs, MPI_Datatype send_type, void *recv,
                  MPI_Count nrecv, MPI_Datatype recv_type)
{
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (is_root(coll))
        result = begin_parts(&b[0], coll, send, size_of(coll->comm), counts, displs, send_type,
                             NULL, NULL, STAGED_READ);
    return result == MPI_SUCCESS ? begin_scattered(b, coll, recv, nrecv, recv_type) : result;
}

/* One buffer's blocks, each to or from a rank; of neighbours, of which some may be MPI_PROC_NULL, whose blocks are the
 * application's also while the call is under way. */
struct side {
    int n, nobodies;  /* blocks, and those of MPI_PROC_NULL */
    const int *ranks; /* NULL: nobodies is 0 */
};

struct partners {
    struct side to, from;
    int *memory;
};

static struct side side_of(const int ranks[], int n)
{
    struct side side = {n, 0, ranks};

    for (int i = 0; i < n; i++)
        side.nobodies += ranks[i] == MPI_PROC_NULL;
    return side;
}

static int partners_begin(struct partners *partners, const struct coll *coll, bool neighbours)
{
    int nin, nout, *ranks, result;

    *partners = (struct partners){0};
    if (!neighbours) {
        partners->to.n = partners->from.n = size_of(coll->comm);
        return MPI_SUCCESS;
    }
    neighbours_count(coll->comm, &nin, &nout);
    ranks = partners->memory = malloc(((size_t)nin + (size_t)nout + 1) * sizeof *ranks);
    if (!ranks)
        return MPI_ERR_NO_MEM;
    result = neighbours_list(coll->comm, nin, ranks, nout, ranks + nin);
    if (result == MPI_SUCCESS) {
        partners->from = side_of(ranks, nin);
        partners->to = side_of(ranks + nin, nout);
    }
    return result == MPI_ERR_TOPOLOGY ? MPI_SUCCESS : result; /* MPI's call will say so */
}

/* Blocks of each elements, one behind the other. */
static int begin_equal_parts(struct staged *staged, const struct coll *coll, const void *user,
                             MPI_Count each, MPI_Datatype type, const struct side *side,
                             unsigned use)
{
    const size_t n = (size_t)side->n;
    MPI_Count *counts;
    MPI_Aint *displs;
    int result;

    if (side->nobodies == 0)
        return begin(staged, coll, user, each * side->n, type, use);
    counts = malloc((n + 1) * sizeof *counts);
    displs = malloc((n + 1) * sizeof *displs);
    for (size_t i = 0; counts && displs && i < n; i++) {
        counts[i] = each;
        displs[i] = (MPI_Aint)((MPI_Count)i * each);
    }
    result = counts && displs
                 ? begin_parts(staged, coll, user, side->n, (struct numbers){counts, true},
                               (struct numbers){displs, true}, type, NULL, side->ranks, use)
                 : MPI_ERR_NO_MEM;
    free(counts);
    free(displs);
    return result;
}

int coll_alltoall(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                  MPI_Count nsend, MPI_Datatype send_type, void *recv, MPI_Count nrecv,
                  MPI_Datatype recv_type)
{
    struct partners partners;
    int result;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    result = partners_begin(&partners, coll, neighbours);
    if (result == MPI_SUCCESS && send != MPI_IN_PLACE)
        result = begin_equal_parts(&b[0], coll, send, nsend, send_type, &partners.to, STAGED_READ);
    if (result == MPI_SUCCESS)
        result = both(b, begin_equal_parts(&b[1], coll, recv, nrecv, recv_type, &partners.from,
                                           written(send)));
    free(partners.memory);
    return result;
}

static int begin_both_parts(struct staged b[2], const struct coll *coll, bool neighbours,
                            const void *send, struct numbers send_counts,
                            struct numbers send_displs, MPI_Datatype send_type,
                            const MPI_Datatype *send_types, void *recv, struct numbers recv_counts,
                            struct numbers recv_displs, MPI_Datatype recv_type,
                            const MPI_Datatype *recv_types)
{
    struct partners partners;
    int result;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    result = partners_begin(&partners, coll, neighbours);
    if (result == MPI_SUCCESS && send != MPI_IN_PLACE)
        result = begin_parts(&b[0], coll, send, partners.to.n, send_counts, send_displs, send_type,
                             send_types, partners.to.ranks, STAGED_READ);
    if (result == MPI_SUCCESS)
        result = both(b, begin_parts(&b[1], coll, recv, partners.from.n, recv_counts, recv_displs,
                                     recv_type, recv_types, partners.from.ranks, written(send)));
    free(partners.memory);
    return result;
}

int coll_alltoallv(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                   struct numbers send_counts, struct numbers send_displs, MPI_Datatype send_type,
                   void *recv, struct numbers recv_counts, struct numbers recv_displs,
                   MPI_Datatype recv_type)
{
    return begin_both_parts(b, coll, neighbours, send, send_counts, send_displs, send_type, NULL,
                            recv, recv_counts, recv_displs, recv_type, NULL);
}

int coll_alltoallw(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                   struct numbers send_counts, struct numbers send_displs,
                   const MPI_Datatype *send_types, void *recv, struct numbers recv_counts,
                   struct numbers recv_displs, const MPI_Datatype *recv_types)
{
    return begin_both_parts(b, coll, neighbours, send, send_counts, send_displs, MPI_BYTE,
                            send_types, recv, recv_counts, recv_displs, MPI_BYTE, recv_types);
}

int coll_neighbour_gather(struct staged b[2], const struct coll *coll, const void *send,
                          MPI_Count nsend, MPI_Datatype send_type, void *recv, MPI_Count nrecv,
                          MPI_Datatype recv_type)
{
    struct partners partners;
    int result;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    result = partners_begin(&partners, coll, true);
    if (result == MPI_SUCCESS && partners.to.nobodies < partners.to.n)
        result = begin_send(&b[0], coll, send, nsend, send_type);
    if (result == MPI_SUCCESS)
        result = both(b, begin_equal_parts(&b[1], coll, recv, nrecv, recv_type, &partners.from,
                                           STAGED_WRITTEN));
    free(partners.memory);
    return result;
}

int coll_neighbour_gatherv(struct staged b[2], const struct coll *coll, const void *send,
                           MPI_Count nsend, MPI_Datatype send_type, void *recv,
                           struct numbers counts, struct numbers displs, MPI_Datatype recv_type)
{
    struct partners partners;
    int result;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    result = partners_begin(&partners, coll, true);
    if (result == MPI_SUCCESS && partners.to.nobodies < partners.to.n)
        result = begin_send(&b[0], coll, send, nsend, send_type);
    if (result == MPI_SUCCESS)
        result = both(b, begin_parts(&b[1], coll, recv, partners.from.n, counts, displs, recv_type,
                                     NULL, partners.from.ranks, STAGED_WRITTEN));
    free(partners.memory);
    return result;
}
