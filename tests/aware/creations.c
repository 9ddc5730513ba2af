/* The first direct collective call of a communicator, while rank 0 makes another communicator, a window or a file, to
 * which the other ranks come only behind that call: with MPI_Comm_idup, and by another thread. Rank 0 prints the
 * results. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define NBYTES 100000
#define SEVERAL 10
#define SECONDS 6 /* a rank that waits for ever ends by then, times TEST_PATIENCE */

static MPI_Comm older, broadcast, made;
static MPI_Win window;
static unsigned char *gpu, *host;

/* The id of the older one is lower, which is where Open MPI would wait. */
static void begin(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &older);
    MPI_Comm_dup(MPI_COMM_WORLD, &broadcast);
    memset(host, rank == 0 ? 7 : 0, NBYTES);
    device_write(gpu, host, NBYTES);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcasts(void)
{
    MPI_Bcast(gpu, NBYTES, MPI_BYTE, 0, broadcast);
}

static void end(const char *what)
{
    device_read(host, gpu, NBYTES);
    for (int i = 0; i < NBYTES; i++)
        if (host[i] != 7 && wrong++ == 0)
            tap_diag("rank %d: byte %d is %d", rank, i, host[i]);
    MPI_Comm_free(&older);
    MPI_Comm_free(&broadcast);
    result(what);
}

static void by_request(void)
{
    MPI_Request request;

    begin();
    if (rank == 0)
        MPI_Comm_idup(older, &made, &request);
    broadcasts();
    if (rank != 0)
        MPI_Comm_idup(older, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
    end("MPI_Comm_idup under way");
}

/* A step of Open MPI's progress between two of them would hang. */
static void by_requests(void)
{
    MPI_Request requests[SEVERAL];
    MPI_Comm duplicates[SEVERAL];

    for (int i = 0; i < SEVERAL; i++)
        MPI_Comm_idup(MPI_COMM_WORLD, &duplicates[i], &requests[i]);
    MPI_Waitall(SEVERAL, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < SEVERAL; i++) {
        MPI_Barrier(duplicates[i]);
        MPI_Comm_free(&duplicates[i]);
    }
    result("several MPI_Comm_idup at once");
}

/* The process's first neighbourhood call, for which the library asks MPI about communicators of MPI_COMM_SELF, whose id
 * is behind that of MPI_COMM_WORLD. */
static void by_neighbours(void)
{
    const int periodic = 1, left = (rank + size - 1) % size, right = (rank + 1) % size;
    const int out[2] = {rank, rank};
    int in[2] = {-1, -1};
    MPI_Request request;
    MPI_Comm ring;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    if (rank == 0)
        MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    if (rank != 0)
        MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += in[0] != left || in[1] != right;
    MPI_Comm_free(&made);
    MPI_Comm_free(&ring);
    result("MPI_Neighbor_alltoall with MPI_Comm_idup of MPI_COMM_WORLD under way");
}

static void *duplicate(void *unused)
{
    MPI_Comm_dup(older, &made);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
    return unused;
}

static void *make_window(void *unused)
{
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, older, &window);
    MPI_Win_free(&window);
    return unused;
}

static void *open_file(void *unused)
{
    MPI_File file;

    MPI_File_open(older, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
    return unused;
}

static void by_thread(const char *what, void *(*make)(void *unused))
{
    pthread_t thread;

    begin();
    if (rank == 0) {
        pthread_create(&thread, NULL, make, NULL);
        usleep(200000); /* it waits for the others by now */
    }
    broadcasts();
    if (rank == 0)
        pthread_join(thread, NULL);
    else
        make(NULL);
    end(what);
}

/* Open MPI 4.1 may have none at MPI_THREAD_MULTIPLE, where processes may not read each other's memory. */
static bool has_windows(void)
{
    MPI_Comm comm;
    bool has;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    has = MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &window) == MPI_SUCCESS;
    if (has)
        MPI_Win_free(&window);
    MPI_Comm_free(&comm);
    return has;
}

static void by_threads(int threads)
{
    if (threads == MPI_THREAD_MULTIPLE) {
        by_thread("MPI_Comm_dup by another thread", duplicate);
        if (has_windows())
            by_thread("MPI_Win_create by another thread", make_window);
        else if (rank == 0)
            tap_skip("MPI_Win_create by another thread", "MPI makes no window");
        by_thread("MPI_File_open by another thread", open_file);
    } else if (rank == 0) {
        tap_skip("communicators, windows and files made by another thread",
                 "no MPI_THREAD_MULTIPLE");
    }
}

/* Goes directly, if what was made before has been told from what is being made. */
static void afterwards(void)
{
    begin();
    broadcasts();
    end("nothing under way");
}

int main(int argc, char **argv)
{
    const char *patience;
    int threads;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    patience = getenv("TEST_PATIENCE");
    alarm(SECONDS * (unsigned)(patience ? atoi(patience) : 1));
    device_start();
    gpu = device_alloc(NBYTES);
    host = malloc(NBYTES);
    if (!host)
        MPI_Abort(MPI_COMM_WORLD, 1);
    by_neighbours();
    by_threads(threads);
    by_request();
    by_requests();
    afterwards();
    device_free(gpu);
    free(host);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
