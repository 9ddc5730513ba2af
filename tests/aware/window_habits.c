/* What programs do with windows of GPU memory beside single calls: they look for a flag again and again while a
 * message is to come, and they use what a request of a get, of types with gaps, has brought. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define LARGE (1 << 20) /* bytes of a message that MPI makes progress for on both sides */
#define N 20000         /* integers that are got */
#define SECONDS 20 /* within which a flag is seen; otherwise the rank would look for it for ever */

static void *allocate(size_t nbytes)
{
    void *memory = malloc(nbytes);

    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* ---- a flag in the window of rank 0 */

enum look { FETCH, GET, REQUEST, LOCK, LOCK_ALL, SWAP, SYNC, LOOKS };
static const char *const looks[] = {
    "MPI_Fetch_and_op, flush", "MPI_Get, flush_local",          "MPI_Rget, MPI_Wait",
    "lock, MPI_Get, unlock",   "lock_all, MPI_Get, unlock_all", "MPI_Compare_and_swap, flush",
    "MPI_Win_sync, flush_all"};

static bool locks_each_time(enum look how)
{
    return how == LOCK || how == LOCK_ALL;
}

static int look(enum look how, MPI_Win win)
{
    const int one = 1;
    MPI_Request request;
    int flag = 0;

    switch (how) {
    case FETCH:
        MPI_Fetch_and_op(NULL, &flag, MPI_INT, 0, 0, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        break;
    case GET:
        MPI_Get(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush_local(0, win);
        break;
    case REQUEST:
        MPI_Rget(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case LOCK:
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        break;
    case LOCK_ALL:
        MPI_Win_lock_all(0, win);
        MPI_Get(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock_all(win);
        break;
    case SWAP:
        MPI_Compare_and_swap(&one, &one, &flag, MPI_INT, 0, 0, win);
        MPI_Win_flush(0, win);
        break;
    default:
        MPI_Win_sync(win);
        MPI_Get(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush_all(win);
    }
    return flag;
}

/* Rank 1 sets the flag when its message has been received, for which rank 0 makes no other call of MPI. */
static void flag(enum look how, char *window_memory, char *large)
{
    const int zero = 0, one = 1;
    MPI_Request request;
    double until;
    MPI_Win win;
    int seen = 0;

    device_write(window_memory, &zero, sizeof zero);
    MPI_Win_create(window_memory, sizeof zero, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (!locks_each_time(how))
        MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Irecv(large, LARGE, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        for (until = MPI_Wtime() + SECONDS; !seen && MPI_Wtime() < until;)
            seen = look(how, win);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (!seen && wrong++ == 0)
            tap_diag("the flag was not set within %d s: no progress of the message", SECONDS);
    } else if (rank == 1) {
        usleep(20000); /* rank 0 looks by now */
        MPI_Ssend(large, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        if (locks_each_time(how))
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
        if (locks_each_time(how))
            MPI_Win_unlock(0, win);
    }
    if (!locks_each_time(how))
        MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    result(looks[how]);
}

/* ---- requests of gets */

/* ours, theirs: every second integer, else all of the first N. */
static void get(bool ours, bool theirs, char *gpu, int *host)
{
    const int target = (rank + 1) % size;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Win win;
    int *memory;

    MPI_Type_vector(N, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Win_allocate(2 * N * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &memory, &win);
    for (int i = 0; i < 2 * N; i++) {
        memory[i] = 3 * i + rank;
        host[i] = -1;
    }
    device_write(gpu, host, 2 * N * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Rget(gpu, ours ? 1 : N, ours ? type : MPI_INT, target, 0, theirs ? 1 : N,
             theirs ? type : MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(target, win);
    device_read(host, gpu, 2 * N * sizeof(int));
    for (int i = 0; i < 2 * N; i++) {
        const int element = ours ? i / 2 : i, gap = ours ? i % 2 : i >= N;
        const int expected = gap ? -1 : 3 * (theirs ? 2 * element : element) + target;

        if (host[i] != expected && wrong++ == 0)
            tap_diag("rank %d: integer %d is %d, not %d", rank, i, host[i], expected);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Type_free(&type);
    result(ours
               ? theirs ? "MPI_Rget, both types with gaps" : "MPI_Rget, the origin's type with gaps"
           : theirs ? "MPI_Rget, the target's type with gaps"
                    : "MPI_Rget");
}

/* ---- locks of which one waits for another rank */

static void meet(int other)
{
    MPI_Sendrecv(NULL, 0, MPI_INT, other, 1, NULL, 0, MPI_INT, other, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Rank 0 keeps its shared lock until rank 2 has one, and rank 1 waits for the exclusive one meanwhile. */
static void shared_locks(void *gpu)
{
    MPI_Win win;

    MPI_Win_create(gpu, N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    if (rank == 2) {
        usleep(100000); /* rank 1 waits by then */
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    }
    if (rank == 0 || rank == 2)
        meet(2 - rank);
    if (rank < 3)
        MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
    result("a shared lock while another rank waits for an exclusive one");
}

/* Rank 1 has one rank's window exclusively, and then another's, which rank 0 would have with it. */
static void all_locks(void *gpu)
{
    MPI_Win win;

    MPI_Win_create(gpu, N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock_all(0, win);
        MPI_Win_unlock_all(win);
    }
    if (rank == 1) {
        usleep(100000); /* rank 0 waits by then */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Win_unlock(0, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Win_free(&win);
    result("MPI_Win_lock_all beside one who takes lock after lock");
}

int main(int argc, char **argv)
{
    char *gpu, *large;
    int *host;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    gpu = device_alloc(2 * N * sizeof(int));
    large = allocate(LARGE);
    host = allocate(2 * N * sizeof(int));
    memset(large, rank, LARGE);
    /* In a window of MPI's own, of which this one is a mirror, Open MPI 4.1 makes no progress for requests. */
    for (enum look how = 0; size > 1 && how < LOOKS; how++)
        if (how != REQUEST || !getenv("GPUBIND_PATH"))
            flag(how, gpu, large);
    if (size > 2)
        shared_locks(gpu);
    if (size > 1)
        all_locks(gpu);
    for (int i = 0; i < 4; i++)
        get(i & 1, i & 2, gpu, host);
    device_free(gpu);
    free(large);
    free(host);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
