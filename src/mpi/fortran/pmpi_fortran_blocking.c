/* Intercepts MPI's Fortran functions that block or test, as pmpi_blocking.c does those of C. While
 * messages of the library are under way, a receive polls for its message and a wait polls its
 * requests before MPI's function is called; a send is started by Fortran's own MPI_Isend. */
#include "mpi/fortran/pmpi_fortran.h"

#define ANY void

#define P1 (ANY * a, MPI_Fint * ierror)
#define P2 (ANY * a, ANY * b, MPI_Fint * ierror)
#define P3 (ANY * a, ANY * b, ANY * c, MPI_Fint * ierror)
#define P4 (ANY * a, ANY * b, ANY * c, ANY * d, MPI_Fint * ierror)
#define P5 (ANY * a, ANY * b, ANY * c, ANY * d, ANY * e, MPI_Fint * ierror)
#define P6 (ANY * a, ANY * b, ANY * c, ANY * d, ANY * e, ANY * f, MPI_Fint * ierror)
#define P7 (ANY * a, ANY * b, ANY * c, ANY * d, ANY * e, ANY * f, ANY * g, MPI_Fint * ierror)
#define P8 \
    (ANY * a, ANY * b, ANY * c, ANY * d, ANY * e, ANY * f, ANY * g, ANY * h, MPI_Fint * ierror)
#define P9                                                                            \
    (ANY * a, ANY * b, ANY * c, ANY * d, ANY * e, ANY * f, ANY * g, ANY * h, ANY * i, \
     MPI_Fint * ierror)
#define A1 (a, &result)
#define A2 (a, b, &result)
#define A3 (a, b, c, &result)
#define A4 (a, b, c, d, &result)
#define A5 (a, b, c, d, e, &result)
#define A6 (a, b, c, d, e, f, &result)
#define A7 (a, b, c, d, e, f, g, &result)
#define A8 (a, b, c, d, e, f, g, h, &result)
#define A9 (a, b, c, d, e, f, g, h, i, &result)

/* name, parameters before ierror, and which of them is the communicator */
#define FORTRAN_AFTER(name, n, before)                                       \
    STAND_INS(name, P##n, A##n, before; const bool begun = blocking_begin(), \
                                        intercept_lacking(#name), if (begun) blocking_end())
#define FORTRAN_OVER(name, n, comm) FORTRAN_AFTER(name, n, GATE(comm))
#define FORTRAN_ENDS(name, n, comm) FORTRAN_AFTER(name, n, intercept_gate(comm, true))
#define FORTRAN_BLOCKS(name, n) FORTRAN_AFTER(name, n, (void)0)
#define FORTRAN_POLLS(name, n) \
    STAND_INS(name, P##n, A##n, (void)0, intercept_lacking(#name), blocking_poll())

/* It has no buffer: calls the function of C. */
#define BARRIER(name)                                        \
    GPUBIND_PUBLIC void name P1;                             \
    GPUBIND_PUBLIC void name P1                              \
    {                                                        \
        const MPI_Fint *comm = a;                            \
        const int result = MPI_Barrier(MPI_Comm_f2c(*comm)); \
                                                             \
        if (ierror)                                          \
            *ierror = result;                                \
    }
BARRIER(mpi_barrier_)
BARRIER(mpi_barrier_f08_)
FORTRAN_OVER(mpi_bcast, 5, e)
FORTRAN_OVER(mpi_gather, 8, h)
FORTRAN_OVER(mpi_gatherv, 9, i)
FORTRAN_OVER(mpi_scatter, 8, h)
FORTRAN_OVER(mpi_scatterv, 9, i)
FORTRAN_OVER(mpi_allgather, 7, g)
FORTRAN_OVER(mpi_allgatherv, 8, h)
FORTRAN_OVER(mpi_alltoall, 7, g)
FORTRAN_OVER(mpi_alltoallv, 9, i)
FORTRAN_OVER(mpi_alltoallw, 9, i)
FORTRAN_OVER(mpi_reduce, 7, g)
FORTRAN_OVER(mpi_allreduce, 6, f)
FORTRAN_OVER(mpi_reduce_scatter, 6, f)
FORTRAN_OVER(mpi_reduce_scatter_block, 6, f)
FORTRAN_OVER(mpi_scan, 6, f)
FORTRAN_OVER(mpi_exscan, 6, f)
FORTRAN_OVER(mpi_neighbor_allgather, 7, g)
FORTRAN_OVER(mpi_neighbor_allgatherv, 8, h)
FORTRAN_OVER(mpi_neighbor_alltoall, 7, g)
FORTRAN_OVER(mpi_neighbor_alltoallv, 9, i)
FORTRAN_OVER(mpi_neighbor_alltoallw, 9, i)
FORTRAN_OVER(mpi_intercomm_create, 6, a)
FORTRAN_ENDS(mpi_comm_free, 1, a)
FORTRAN_ENDS(mpi_comm_disconnect, 1, a)

FORTRAN_OVER(mpi_win_create, 6, e)
FORTRAN_OVER(mpi_win_create_dynamic, 3, b)
FORTRAN_BLOCKS(mpi_win_free, 1)
FORTRAN_BLOCKS(mpi_win_fence, 2)
FORTRAN_BLOCKS(mpi_win_start, 3)
FORTRAN_BLOCKS(mpi_win_complete, 1)
FORTRAN_BLOCKS(mpi_win_post, 3)
FORTRAN_BLOCKS(mpi_win_wait, 1)
FORTRAN_BLOCKS(mpi_win_lock, 4)
FORTRAN_BLOCKS(mpi_win_lock_all, 2)
FORTRAN_BLOCKS(mpi_win_unlock, 2)
FORTRAN_BLOCKS(mpi_win_unlock_all, 1)
FORTRAN_BLOCKS(mpi_win_flush, 2)
FORTRAN_BLOCKS(mpi_win_flush_all, 1)
FORTRAN_BLOCKS(mpi_win_flush_local, 2)
FORTRAN_BLOCKS(mpi_win_flush_local_all, 1)

FORTRAN_BLOCKS(mpi_file_close, 1)
FORTRAN_BLOCKS(mpi_file_sync, 1)
FORTRAN_BLOCKS(mpi_file_set_size, 2)
FORTRAN_BLOCKS(mpi_file_preallocate, 2)
FORTRAN_BLOCKS(mpi_file_read_all, 5)
FORTRAN_BLOCKS(mpi_file_read_ordered, 5)
FORTRAN_BLOCKS(mpi_file_write_all, 5)
FORTRAN_BLOCKS(mpi_file_write_ordered, 5)
FORTRAN_BLOCKS(mpi_file_read_at_all, 6)
FORTRAN_BLOCKS(mpi_file_write_at_all, 6)
STAND_INS(mpi_file_open,
          (ANY * a, ANY *name, ANY *c, ANY *d, ANY *e, MPI_Fint *ierror, size_t length),
          (a, name, c, d, e, &result, length), GATE(a);
          const bool begun = blocking_begin(), intercept_lacking("mpi_file_open"),
          if (begun) blocking_end())

FORTRAN_POLLS(mpi_test, 3)
FORTRAN_POLLS(mpi_testall, 4)
FORTRAN_POLLS(mpi_testany, 5)
FORTRAN_POLLS(mpi_testsome, 5)
FORTRAN_POLLS(mpi_request_get_status, 3)
FORTRAN_POLLS(mpi_iprobe, 5)
FORTRAN_POLLS(mpi_improbe, 6)

/* ---- waits */

static bool is_over(MPI_Fint handle)
{
    int over = 1;

    PMPI_Request_get_status(MPI_Request_f2c(handle), &over, MPI_STATUS_IGNORE);
    return over;
}

/* Polls until all requests are complete, or (any) one is. */
static bool are_over(const MPI_Fint *requests, MPI_Fint n, bool any)
{
    bool none = true;

    for (MPI_Fint i = 0; i < n; i++) {
        if (MPI_Request_f2c(requests[i]) == MPI_REQUEST_NULL)
            continue;
        none = false;
        if (is_over(requests[i]) == any)
            return any;
    }
    return none || !any;
}

static void until_over(const MPI_Fint *requests, MPI_Fint n, bool any)
{
    int turns = 0;

    while (blocking_loops() && !are_over(requests, n, any))
        blocking_turn(&turns);
}

static void until_there(const MPI_Fint *source, const MPI_Fint *tag, const MPI_Fint *comm)
{
    int turns = 0, there = 0;

    while (blocking_loops()) {
        if (PMPI_Iprobe(*source, *tag, MPI_Comm_f2c(*comm), &there, MPI_STATUS_IGNORE) !=
                MPI_SUCCESS ||
            there)
            return;
        blocking_turn(&turns);
    }
}

FORTRAN_AFTER(mpi_wait, 2, until_over(a, 1, false))
FORTRAN_AFTER(mpi_waitall, 3, until_over(b, *(MPI_Fint *)a, false))
FORTRAN_AFTER(mpi_waitany, 4, until_over(b, *(MPI_Fint *)a, true))
FORTRAN_AFTER(mpi_waitsome, 5, until_over(b, *(MPI_Fint *)a, true))
FORTRAN_AFTER(mpi_probe, 4, until_there(a, b, c))
FORTRAN_AFTER(mpi_mprobe, 5, until_there(a, b, c))
FORTRAN_AFTER(mpi_recv, 7, until_there(d, e, f))
FORTRAN_BLOCKS(mpi_mrecv, 5)
FORTRAN_BLOCKS(mpi_sendrecv_replace, 9)

/* ---- sends */

typedef void begins(ANY *, ANY *, ANY *, ANY *, ANY *, ANY *, MPI_Fint *, MPI_Fint *);

/* Calls Fortran's MPI_Isend of that name, and polls until the send is complete. */
static MPI_Fint send(const char *name, const char *other, ANY *a, ANY *b, ANY *c, ANY *d, ANY *e,
                     ANY *f)
{
    MPI_Fint handle, result = MPI_SUCCESS;
    MPI_Request request;
    begins *begin;

    *(void **)&begin = intercept_next(name, other);
    if (!begin)
        return intercept_lacking(name);
    begin(a, b, c, d, e, f, &handle, &result);
    if (result != MPI_SUCCESS)
        return result;
    request = MPI_Request_f2c(handle);
    return blocking_wait(&request, MPI_STATUS_IGNORE);
}

#define SEND(name, other, begin, other_begin)                      \
    GPUBIND_PUBLIC void name P6;                                   \
    GPUBIND_PUBLIC void name P6                                    \
    {                                                              \
        MPI_Fint result = MPI_SUCCESS;                             \
        static void(*real) P6;                                     \
                                                                   \
        if (!real)                                                 \
            *(void **)&real = intercept_next(#name, #other);       \
        if (!real)                                                 \
            intercept_lacking(#name);                              \
        if (blocking_loops()) {                                    \
            result = send(#begin, #other_begin, a, b, c, d, e, f); \
        } else {                                                   \
            const bool begun = blocking_begin();                   \
                                                                   \
            blocking_nest(1);                                      \
            real A6;                                               \
            blocking_nest(-1);                                     \
            if (begun)                                             \
                blocking_end();                                    \
        }                                                          \
        if (ierror)                                                \
            *ierror = result;                                      \
    }
#define SENDS_BY(name, begin)                          \
    SEND(name##_, name##_f08_, begin##_, begin##_f08_) \
    SEND(name##_f08_, name##_, begin##_f08_, begin##_)

SENDS_BY(mpi_send, mpi_isend)
SENDS_BY(mpi_ssend, mpi_issend)
SENDS_BY(mpi_rsend, mpi_irsend)

/* Starts the send by MPI_Isend, polls for the message of the receive, and then calls MPI's
 * receive. */
#define PAIR                                                                                   \
    (ANY * a, ANY * b, ANY * c, ANY * d, ANY * e, ANY * f, ANY * g, ANY * h, ANY * i, ANY * j, \
     ANY * k, ANY * l, MPI_Fint * ierror)
#define BOTH(name, other, begin, other_begin, take)                  \
    GPUBIND_PUBLIC void name PAIR;                                   \
    GPUBIND_PUBLIC void name PAIR                                    \
    {                                                                \
        MPI_Fint result = MPI_SUCCESS, handle;                       \
        static void(*real) PAIR;                                     \
        static begins *start;                                        \
                                                                     \
        if (!real) {                                                 \
            *(void **)&start = intercept_next(#begin, #other_begin); \
            *(void **)&real = intercept_next(#name, #other);         \
        }                                                            \
        if (!real || !start)                                         \
            intercept_lacking(#name);                                \
        if (blocking_loops()) {                                      \
            start(a, b, c, d, e, k, &handle, &result);               \
            if (result == MPI_SUCCESS) {                             \
                MPI_Request request = MPI_Request_f2c(handle);       \
                                                                     \
                take(f, g, h, i, j, k, l, &result);                  \
                blocking_wait(&request, MPI_STATUS_IGNORE);          \
            }                                                        \
        } else {                                                     \
            const bool begun = blocking_begin();                     \
                                                                     \
            blocking_nest(1);                                        \
            real(a, b, c, d, e, f, g, h, i, j, k, l, &result);       \
            blocking_nest(-1);                                       \
            if (begun)                                               \
                blocking_end();                                      \
        }                                                            \
        if (ierror)                                                  \
            *ierror = result;                                        \
    }
BOTH(mpi_sendrecv_, mpi_sendrecv_f08_, mpi_isend_, mpi_isend_f08_, mpi_recv_)
BOTH(mpi_sendrecv_f08_, mpi_sendrecv_, mpi_isend_f08_, mpi_isend_, mpi_recv_f08_)
