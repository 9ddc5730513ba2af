/* A libnccl.so.2 for tests without GPUs: NCCL's functions by MPI's, which take GPU memory under
 * libgpubind-aware. FAKE_NCCL_FAILS is a rank whose ncclCommInitRank fails, FAKE_NCCL_WRONG one
 * that ncclAllReduce leaves without its result. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

struct id {
    char bytes[128];
};

static MPI_Request requests[64];
static int nrequests, depth, mine;

int ncclGetVersion(int *version);
int ncclGetUniqueId(struct id *id);
int ncclCommInitRank(void **comm, int n, struct id id, int rank);
int ncclCommDestroy(void *comm);
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

/* Doubles and sums alone are known. */
static int result(int type, int op, int status)
{
    return type == 8 && op == 0 && status == MPI_SUCCESS ? 0 : 4;
}

int ncclGetVersion(int *version)
{
    *version = 21903;
    return 0;
}

int ncclGetUniqueId(struct id *id)
{
    memset(id, 0x5a, sizeof *id);
    return 0;
}

int ncclCommInitRank(void **comm, int n, struct id id, int rank)
{
    mine = rank;
    for (size_t i = 0; i < sizeof id.bytes; i++)
        if (id.bytes[i] != 0x5a)
            return 4;
    *comm = &requests;
    return is_named("FAKE_NCCL_FAILS") || n < 1 ? 2 : 0;
}

int ncclCommDestroy(void *comm)
{
    return comm == &requests ? 0 : 4;
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

int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream)
{
    (void)comm, (void)stream;
    return result(
        type, !depth,
        MPI_Isend(send, (int)count, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[nrequests++]));
}

int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream)
{
    (void)comm, (void)stream;
    return result(
        type, !depth,
        MPI_Irecv(recv, (int)count, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[nrequests++]));
}

int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm,
                  void *stream)
{
    (void)comm, (void)stream;
    return result(type, send != recv,
                  MPI_Bcast(recv, (int)count, MPI_DOUBLE, root, MPI_COMM_WORLD));
}

int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm,
               void *stream)
{
    (void)comm, (void)stream;
    return result(type, op,
                  MPI_Reduce(send, recv, (int)count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
}

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                  void *stream)
{
    void *lost = is_named("FAKE_NCCL_WRONG") ? calloc(count, sizeof(double)) : NULL;
    int status = MPI_Allreduce(send, lost ? lost : recv, (int)count, MPI_DOUBLE, MPI_SUM,
                               MPI_COMM_WORLD);

    (void)comm, (void)stream;
    free(lost);
    return result(type, op, status);
}

int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
    (void)comm, (void)stream;
    return result(
        type, 0,
        MPI_Allgather(send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE, MPI_COMM_WORLD));
}

int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm,
                      void *stream)
{
    (void)comm, (void)stream;
    return result(
        type, op,
        MPI_Reduce_scatter_block(send, recv, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}
