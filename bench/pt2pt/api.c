#include "bench/pt2pt/api.h"

#include "bench/lib/ranks.h"

/* ---- gpubind */

static void gpubind_send(const void *buf, size_t nbytes, int peer)
{
    ranks_need(MPI_GPUSend_c(buf, (MPI_Count)nbytes, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD));
}

static void gpubind_recv(void *buf, size_t nbytes, int peer)
{
    ranks_need(MPI_GPURecv_c(buf, (MPI_Count)nbytes, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE));
}

static void gpubind_start_send(const void *buf, size_t nbytes, int peer, struct requests *requests)
{
    ranks_need(gpubind_isend_c(buf, (MPI_Count)nbytes, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD,
                               &requests->gpubind[requests->n++]));
}

static void gpubind_start_recv(void *buf, size_t nbytes, int peer, struct requests *requests)
{
    ranks_need(gpubind_irecv_c(buf, (MPI_Count)nbytes, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD,
                               &requests->gpubind[requests->n++]));
}

static void gpubind_end_all(struct requests *requests)
{
    ranks_need(gpubind_waitall(requests->n, requests->gpubind, MPI_STATUSES_IGNORE));
    requests->n = 0;
}

const struct api api_gpubind = {gpubind_send, gpubind_recv, gpubind_start_send, gpubind_start_recv,
                                gpubind_end_all};

/* ---- plain MPI; BENCH_MAX_SIZE fits into its int */

static void check_mpi(int status, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (status == MPI_SUCCESS)
        return;
    MPI_Error_string(status, text, &length);
    ranks_die("%s: %s", call, text);
}

static void mpi_send(const void *buf, size_t nbytes, int peer)
{
    check_mpi(MPI_Send(buf, (int)nbytes, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD), "MPI_Send");
}

static void mpi_recv(void *buf, size_t nbytes, int peer)
{
    check_mpi(
        MPI_Recv(buf, (int)nbytes, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "MPI_Recv");
}

static void mpi_start_send(const void *buf, size_t nbytes, int peer, struct requests *requests)
{
    check_mpi(MPI_Isend(buf, (int)nbytes, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD,
                        &requests->mpi[requests->n++]),
              "MPI_Isend");
}

static void mpi_start_recv(void *buf, size_t nbytes, int peer, struct requests *requests)
{
    check_mpi(MPI_Irecv(buf, (int)nbytes, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD,
                        &requests->mpi[requests->n++]),
              "MPI_Irecv");
}

static void mpi_end_all(struct requests *requests)
{
    check_mpi(MPI_Waitall(requests->n, requests->mpi, MPI_STATUSES_IGNORE), "MPI_Waitall");
    requests->n = 0;
}

const struct api api_mpi = {mpi_send, mpi_recv, mpi_start_send, mpi_start_recv, mpi_end_all};
