#include "tests/mpi/mpi_calls.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"

#define LONG 200000 /* ints: no MPI sends them before they are received */

static int *numbers(int n, int first)
{
    int *all = malloc((size_t)n * sizeof *all);

    for (int i = 0; i < n; i++)
        all[i] = first + i;
    return all;
}

static void are(int *all, int n, int first, const char *what)
{
    int wrong = 0;

    for (int i = 0; i < n; i++)
        wrong += all[i] != first + i;
    is_int(wrong, 0, what);
    free(all);
}

/* ---- collective */

static void barrier(MPI_Comm comm, int rank)
{
    (void)rank;
    succeeds(MPI_Barrier(comm), "barrier");
}

static void bcast(MPI_Comm comm, int rank)
{
    int *all = numbers(LONG, rank == 1 ? 7 : 0);

    succeeds(MPI_Bcast(all, LONG, MPI_INT, 1, comm), "bcast");
    are(all, LONG, 7, "bcast");
}

static void reductions(MPI_Comm comm, int rank)
{
    int sum = rank + 1, counts[2] = {1, 1}, two[2] = {rank + 1, rank + 1};

    succeeds(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm), "allreduce");
    is_int(sum, 3, "allreduce");
    succeeds(MPI_Reduce_scatter_block(two, &sum, 1, MPI_INT, MPI_SUM, comm), "scatter_block");
    is_int(sum, 3, "reduce_scatter_block");
    succeeds(MPI_Reduce_scatter(two, &sum, counts, MPI_INT, MPI_SUM, comm), "reduce_scatter");
    is_int(sum, 3, "reduce_scatter");
}

static void reduce(MPI_Comm comm, int rank)
{
    int mine = rank + 1, sum = 0;

    succeeds(MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, comm), "reduce");
    is_int(sum, rank == 0 ? 3 : 0, "reduce");
}

static void exscan(MPI_Comm comm, int rank)
{
    int mine = 5, sum = 0;

    succeeds(MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, comm), "scan");
    is_int(sum, rank == 0 ? 5 : 10, "scan");
    succeeds(MPI_Exscan(&mine, &sum, 1, MPI_INT, MPI_SUM, comm), "exscan");
    is_int(sum, 5, "exscan");
    MPI_Barrier(comm);
}

static void gather(MPI_Comm comm, int rank)
{
    int mine = rank + 1, all[2] = {0, 0}, counts[2] = {1, 1}, at[2] = {1, 0};

    succeeds(MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, comm), "gather");
    is_int(all[1], rank == 0 ? 2 : 0, "gather");
    succeeds(MPI_Gatherv(&mine, 1, MPI_INT, all, counts, at, MPI_INT, 0, comm), "gatherv");
    is_int(all[0], rank == 0 ? 2 : 0, "gatherv");
}

static void scatter(MPI_Comm comm, int rank)
{
    int all[2] = {4, 5}, counts[2] = {1, 1}, at[2] = {0, 1}, mine = 0;

    succeeds(MPI_Scatter(all, 1, MPI_INT, &mine, 1, MPI_INT, 1, comm), "scatter");
    is_int(mine, 4 + rank, "scatter");
    mine = 0;
    succeeds(MPI_Scatterv(all, counts, at, MPI_INT, &mine, 1, MPI_INT, 1, comm), "scatterv");
    is_int(mine, 4 + rank, "scatterv");
}

static void allgather(MPI_Comm comm, int rank)
{
    int mine = rank + 1, all[2] = {0, 0}, counts[2] = {1, 1}, at[2] = {1, 0};

    succeeds(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm), "allgather");
    is_int(all[0] + 10 * all[1], 21, "allgather");
    succeeds(MPI_Allgatherv(&mine, 1, MPI_INT, all, counts, at, MPI_INT, comm), "allgatherv");
    is_int(all[0] + 10 * all[1], 12, "allgatherv");
}

static void alltoall(MPI_Comm comm, int rank)
{
    int out[2] = {10 * rank, 10 * rank + 1}, in[2], counts[2] = {1, 1}, at[2] = {0, 1};
    int bytes[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};

    succeeds(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm), "alltoall");
    is_int(in[1], 10 + rank, "alltoall");
    succeeds(MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, comm), "alltoallv");
    is_int(in[1], 10 + rank, "alltoallv");
    succeeds(MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, comm), "alltoallw");
    is_int(in[1], 10 + rank, "alltoallw");
}

static void neighbors(MPI_Comm comm, int rank)
{
    int one[1] = {2}, ring[1] = {1}, out[2] = {rank, rank + 2}, in[2] = {9, 9};
    MPI_Comm cart;

    succeeds(MPI_Cart_create(comm, 1, one, ring, 0, &cart), "cart_create");
    succeeds(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, cart), "neighbor_allgather");
    is_int(in[0], !rank, "neighbor_allgather");
    succeeds(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, cart), "neighbor_alltoall");
    expect(in[0] % 2 == !rank, "neighbor_alltoall: %d", in[0]);
    succeeds(MPI_Comm_free(&cart), "comm_free");
}

static void communicators(MPI_Comm comm, int rank)
{
    MPI_Comm made;
    int size = 0;

    succeeds(MPI_Comm_dup(comm, &made), "comm_dup");
    MPI_Comm_size(made, &size);
    is_int(size, 2, "comm_dup");
    succeeds(MPI_Comm_free(&made), "comm_free");
    succeeds(MPI_Comm_split(comm, rank, 0, &made), "comm_split");
    MPI_Comm_size(made, &size);
    is_int(size, 1, "comm_split");
    succeeds(MPI_Comm_disconnect(&made), "comm_disconnect");
}

/* ---- between two ranks */

static void receive(MPI_Comm comm, int rank)
{
    int *all = numbers(LONG, rank == 1 ? 3 : 0);
    MPI_Status status;
    int n = 0;

    if (rank == 1) {
        succeeds(MPI_Send(all, LONG, MPI_INT, 0, 9, comm), "send");
    } else {
        succeeds(MPI_Recv(all, LONG, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status), "recv");
        MPI_Get_count(&status, MPI_INT, &n);
        expect(n == LONG && status.MPI_SOURCE == 1 && status.MPI_TAG == 9, "recv: %d of tag %d", n,
               status.MPI_TAG);
    }
    are(all, LONG, 3, "recv");
    succeeds(MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &status), "from nobody");
    is_int(status.MPI_SOURCE, MPI_PROC_NULL, "from nobody");
}

static void send(MPI_Comm comm, int rank)
{
    int *all = numbers(LONG, rank == 0 ? 3 : 0), small = 1;

    if (rank == 0) {
        succeeds(MPI_Send(all, LONG, MPI_INT, 1, 9, comm), "send");
        succeeds(MPI_Ssend(&small, 1, MPI_INT, 1, 10, comm), "ssend");
    } else {
        succeeds(MPI_Recv(all, LONG, MPI_INT, 0, 9, comm, MPI_STATUS_IGNORE), "recv");
        succeeds(MPI_Recv(&small, 1, MPI_INT, 0, 10, comm, MPI_STATUS_IGNORE), "recv");
    }
    are(all, LONG, 3, "send");
}

static void sendrecv(MPI_Comm comm, int rank)
{
    int *out = numbers(LONG, rank), *in = numbers(LONG, 0);
    MPI_Status status;

    succeeds(MPI_Sendrecv(out, LONG, MPI_INT, !rank, 5 + rank, in, LONG, MPI_INT, !rank, 6 - rank,
                          comm, &status),
             "sendrecv");
    is_int(status.MPI_TAG, 6 - rank, "sendrecv");
    are(in, LONG, !rank, "sendrecv");
    succeeds(MPI_Sendrecv_replace(out, LONG, MPI_INT, !rank, 7, !rank, 7, comm, &status),
             "sendrecv_replace");
    are(out, LONG, !rank, "sendrecv_replace");
}

static void probe(MPI_Comm comm, int rank)
{
    int small = 12, n = 0;
    MPI_Message message;
    MPI_Status status;

    for (int i = 0; i < 2; i++)
        if (rank == 1)
            succeeds(MPI_Send(&small, 1, MPI_INT, 0, 4, comm), "send");
    if (rank == 1)
        return;
    succeeds(MPI_Probe(1, 4, comm, &status), "probe");
    MPI_Get_count(&status, MPI_INT, &n);
    is_int(n, 1, "probe");
    succeeds(MPI_Mprobe(1, 4, comm, &message, &status), "mprobe");
    succeeds(MPI_Mrecv(&small, 1, MPI_INT, &message, &status), "mrecv");
    succeeds(MPI_Recv(&small, 1, MPI_INT, 1, 4, comm, &status), "recv");
    is_int(small, 12, "mrecv");
}

/* Rank 0 waits for three receives by all kinds of waits. */
static void waits(MPI_Comm comm, int rank)
{
    int values[3] = {0, 0, 0}, ended[3], n = 0, which;
    MPI_Request requests[3];
    MPI_Status status, statuses[3];

    if (rank == 1) {
        for (int round = 0; round < 4; round++)
            for (int i = 0; i < 3; i++) {
                const int value = 10 * round + i;

                succeeds(MPI_Send(&value, 1, MPI_INT, 0, i, comm), "send");
            }
        return;
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 1, i, comm, &requests[i]);
        if (round == 0)
            for (int i = 0; i < 3; i++) {
                succeeds(MPI_Wait(&requests[i], &status), "wait");
                is_int(status.MPI_TAG, i, "wait");
            }
        if (round == 1)
            succeeds(MPI_Waitall(3, requests, statuses), "waitall");
        for (int i = 0; i < 3 && round == 2; i++)
            succeeds(MPI_Waitany(3, requests, &which, &status), "waitany");
        for (int done = 0; done < 3 && round == 3; done += n)
            succeeds(MPI_Waitsome(3, requests, &n, ended, statuses), "waitsome");
        for (int i = 0; i < 3; i++) {
            is_int(values[i], 10 * round + i, "what was waited for");
            expect(requests[i] == MPI_REQUEST_NULL, "the request is still there");
        }
    }
    succeeds(MPI_Waitany(3, requests, &which, &status), "waitany of none");
    is_int(which, MPI_UNDEFINED, "waitany of none");
    succeeds(MPI_Waitsome(3, requests, &n, ended, statuses), "waitsome of none");
    is_int(n, MPI_UNDEFINED, "waitsome of none");
}

static void tests(MPI_Comm comm, int rank)
{
    int value = 8, flag = 0;
    MPI_Request request;

    if (rank == 1) {
        succeeds(MPI_Send(&value, 1, MPI_INT, 0, 1, comm), "send");
        succeeds(MPI_Send(&value, 1, MPI_INT, 0, 2, comm), "send");
        return;
    }
    MPI_Irecv(&value, 1, MPI_INT, 1, 1, comm, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        MPI_Iprobe(1, 2, comm, &flag, MPI_STATUS_IGNORE);
    MPI_Irecv(&value, 1, MPI_INT, 1, 2, comm, &request);
    for (flag = 0; !flag;)
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    is_int(value, 8, "test");
}

/* ---- windows and files */

static MPI_Win window(MPI_Comm comm, int *memory)
{
    MPI_Win win;

    *memory = -1;
    succeeds(MPI_Win_create(memory, sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &win),
             "win_create");
    return win;
}

bool mpi_makes_windows(MPI_Comm comm)
{
    int memory = 0, good;
    MPI_Win win;

    good = MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS;
    if (good)
        MPI_Win_free(&win);
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, job.plain);
    return good;
}

/* To a window that does not begin at a multiple of 16 MPICH 4.0 writes before its beginning. */
#define WINDOW_ALIGNMENT 64

static void fence(MPI_Comm comm, int rank)
{
    _Alignas(WINDOW_ALIGNMENT) int memory;
    int value = rank + 20;
    MPI_Win win = window(comm, &memory);

    succeeds(MPI_Win_fence(0, win), "fence");
    succeeds(MPI_Put(&value, 1, MPI_INT, !rank, 0, 1, MPI_INT, win), "put");
    succeeds(MPI_Win_fence(0, win), "fence");
    is_int(memory, !rank + 20, "what was put");
    succeeds(MPI_Win_free(&win), "win_free");
}

static MPI_Win kept; /* made beforehand: rank 0 is to meet rank 1 in the wait */
static _Alignas(WINDOW_ALIGNMENT) int kept_memory;
static bool is_kept;

static void post_and_wait(MPI_Comm comm, int rank)
{
    int other = !rank, value = 33;
    MPI_Group world, group;

    if (!is_kept)
        kept = window(comm, &kept_memory);
    is_kept = true;
    MPI_Comm_group(comm, &world);
    MPI_Group_incl(world, 1, &other, &group);
    if (rank == 0) {
        succeeds(MPI_Win_post(group, 0, kept), "post");
        succeeds(MPI_Win_wait(kept), "win_wait");
        is_int(kept_memory, value, "what was put");
        kept_memory = -1;
    } else {
        succeeds(MPI_Win_start(group, 0, kept), "start");
        succeeds(MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, kept), "put");
        succeeds(MPI_Win_complete(kept), "complete");
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

void mpi_calls_end(void)
{
    if (is_kept)
        MPI_Win_free(&kept);
}

static void files(MPI_Comm comm, int rank)
{
    char name[100];
    int value = rank + 40, pid = (int)getpid();
    MPI_Status status;
    MPI_File file;

    MPI_Bcast(&pid, 1, MPI_INT, 1, comm);
    snprintf(name, sizeof name, "%.60s/progress.%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             pid);
    succeeds(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file),
             "file_open");
    succeeds(
        MPI_File_write_at_all(file, (MPI_Offset)sizeof value * rank, &value, 1, MPI_INT, &status),
        "write_at_all");
    MPI_File_sync(file);
    MPI_Barrier(comm);
    succeeds(
        MPI_File_read_at_all(file, (MPI_Offset)sizeof value * !rank, &value, 1, MPI_INT, &status),
        "read_at_all");
    is_int(value, 40 + !rank, "file");
    succeeds(MPI_File_close(&file), "file_close");
}

const struct mpi_call mpi_calls[] = {
    {"MPI_Barrier", barrier, false, false},
    {"MPI_Bcast", bcast, false, false},
    {"MPI_Allreduce", reductions, false, false},
    {"MPI_Reduce", reduce, false, false},
    {"MPI_Exscan", exscan, false, false},
    {"MPI_Gather", gather, false, false},
    {"MPI_Scatter", scatter, false, false},
    {"MPI_Allgather", allgather, false, false},
    {"MPI_Alltoall", alltoall, false, false},
    {"MPI_Neighbor_alltoall", neighbors, true, false},
    {"MPI_Comm_dup", communicators, true, false},
    {"MPI_Recv", receive, false, false},
    {"MPI_Send", send, false, false},
    {"MPI_Sendrecv", sendrecv, false, false},
    {"MPI_Probe", probe, false, false},
    {"MPI_Wait", waits, false, false},
    {"MPI_Test", tests, false, false},
    {"MPI_Win_fence", fence, true, true},
    {"MPI_Win_wait", post_and_wait, true, true},
    {"MPI_File_open", files, true, false},
};
const int mpi_ncalls = (int)(sizeof mpi_calls / sizeof *mpi_calls);
