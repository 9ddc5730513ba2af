/* A libnccl.so.2 for tests without GPUs: NCCL's functions by MPI's, which take GPU memory under
 * libgpubind-aware, and are done when they return. FAKE_NCCL_FAILS is a rank whose ncclCommInitRank fails, FAKE_NCCL_WRONG one
 * that ncclAllReduce leaves without its result; with FAKE_NCCL_BREAKS the latter fails on all. ncclAllReduce of
 * several threads come one after the other, as kernels of one stream do; MPI's function may itself call it. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct id {
    int first; /* the rank of MPI_COMM_WORLD that has made it */
    char bytes[124];
};

static MPI_Request requests[64];
static int nrequests, depth, mine;

int ncclGetVersion(int *version);
int ncclGetUniqueId(struct id *id);
int ncclCommInitRank(void **comm, int n, struct id id, int rank);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclCommGetAsyncError(void *comm, int *error);
const char *ncclGetErrorString(int status);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream);
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm,
                  void *stream);
int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm,
               void *stream);
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                  void *stream);
int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm,
                      void *stream);

static int is_named(const char *variable)
{
    const char *rank = getenv(variable);

    return rank && atoi(rank) == mine;
}

/* Of doubles and of sums. */
static int result(int type, int op, int status)
{
    return type == 8 && op == 0 && status == MPI_SUCCESS ? 0 : 4;
}

static MPI_Datatype type_of(int type)
{
    const MPI_Datatype types[] = {MPI_INT8_T,        MPI_UINT8_T, MPI_INT32_T,
                                  MPI_UINT32_T,      MPI_INT64_T, MPI_UINT64_T,
                                  MPI_DATATYPE_NULL, MPI_FLOAT,   MPI_DOUBLE};

    return types[type];
}

static MPI_Op op_of(int op)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};

    return ops[op];
}

int ncclGetVersion(int *version)
{
    *version = 2804; /* whose calls cannot be captured */
    return 0;
}

int ncclGetUniqueId(struct id *id)
{
    memset(id, 0x5a, sizeof *id);
    MPI_Comm_rank(MPI_COMM_WORLD, &id->first);
    return 0;
}

/* The first one tells all who they are. */
static MPI_Comm *connected(int n, const struct id *id, int rank)
{
    MPI_Comm *comm = malloc(sizeof *comm);
    int *ranks = malloc((size_t)n * sizeof *ranks), world;
    MPI_Group all, group;

    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    ranks[rank] = world;
    for (int i = 1; i < n && rank == 0; i++) {
        int mine[2];

        MPI_Recv(mine, 2, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ranks[mine[0]] = mine[1];
    }
    for (int i = 1; i < n && rank == 0; i++)
        MPI_Send(ranks, n, MPI_INT, ranks[i], 78, MPI_COMM_WORLD);
    if (rank > 0) {
        MPI_Send((int[2]){rank, world}, 2, MPI_INT, id->first, 77, MPI_COMM_WORLD);
        MPI_Recv(ranks, n, MPI_INT, id->first, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, n, ranks, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 79, comm);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    free(ranks);
    return comm;
}

int ncclCommInitRank(void **comm, int n, struct id id, int rank)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    for (size_t i = 0; i < sizeof id.bytes; i++)
        if (id.bytes[i] != 0x5a)
            return 4;
    *comm = connected(n, &id, rank);
    return is_named("FAKE_NCCL_FAILS") || n < 1 ? 2 : 0;
}

int ncclCommDestroy(void *comm)
{
    int status = MPI_Comm_free(comm);

    free(comm);
    return status == MPI_SUCCESS ? 0 : 4;
}

int ncclCommAbort(void *comm)
{
    free(comm);
    return 0;
}

int ncclCommGetAsyncError(void *comm, int *error)
{
    (void)comm;
    *error = 0;
    return 0;
}

const char *ncclGetErrorString(int status)
{
    return status == 2 ? "a fake failure" : "wrong arguments";
}

int ncclGroupStart(void)
{
    depth++;
    return 0;
}

int ncclGroupEnd(void)
{
    int n = nrequests;

    nrequests = 0;
    return --depth ? 4 : result(8, 0, MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
}

/* In a group they begin, else they are done. */
int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream)
{
    const MPI_Datatype of = type_of(type);
    int status;

    (void)stream;
    if (depth)
        status = MPI_Isend(send, (int)count, of, peer, 1, *(MPI_Comm *)comm,
                           &requests[nrequests++]);
    else
        status = MPI_Send(send, (int)count, of, peer, 1, *(MPI_Comm *)comm);
    return result(8, 0, status);
}

int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream)
{
    const MPI_Datatype of = type_of(type);
    int status;

    (void)stream;
    if (depth)
        status = MPI_Irecv(recv, (int)count, of, peer, 1, *(MPI_Comm *)comm,
                           &requests[nrequests++]);
    else
        status = MPI_Recv(recv, (int)count, of, peer, 1, *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
    return result(8, 0, status);
}

int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm,
                  void *stream)
{
    (void)stream;
    return result(type, send != recv,
                  MPI_Bcast(recv, (int)count, MPI_DOUBLE, root, *(MPI_Comm *)comm));
}

int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm,
               void *stream)
{
    (void)stream;
    return result(
        8, 0,
        MPI_Reduce(send, recv, (int)count, type_of(type), op_of(op), root, *(MPI_Comm *)comm));
}

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                  void *stream)
{
    static pthread_mutex_t stream_is_busy = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    void *lost = is_named("FAKE_NCCL_WRONG") ? calloc(count, 8) : NULL;
    int status;

    (void)stream;
    pthread_mutex_lock(&stream_is_busy);
    status = MPI_Allreduce(send, lost ? lost : recv, (int)count, type_of(type), op_of(op),
                           *(MPI_Comm *)comm);
    pthread_mutex_unlock(&stream_is_busy);
    free(lost);
    return result(8, 0, getenv("FAKE_NCCL_BREAKS") ? MPI_ERR_OTHER : status);
}

int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
    (void)stream;
    return result(type, 0,
                  MPI_Allgather(send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE,
                                *(MPI_Comm *)comm));
}

int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm,
                      void *stream)
{
    (void)stream;
    return result(8, 0,
                  MPI_Reduce_scatter_block(send, recv, (int)count, type_of(type), op_of(op),
                                           *(MPI_Comm *)comm));
}
