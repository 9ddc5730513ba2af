/* Who is where: the matrix of peers, neighbours, the ranks with GPUs, the rank of a GPU.
 * `ranks where [MATRIX]`: which device reaches which, rows such as 011/101/110; default
 * all. Ranks whose GPUBIND_ROLE is idle or master have no GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

static int *device; /* of each rank; -1 for no GPU */

static bool reaches(int one, int other)
{
    const char *rows = nargs ? arguments[0] : NULL;
    size_t width = rows ? strcspn(rows, "/") : 0;

    return !rows || one == other || rows[(size_t)one * (width + 1) + (size_t)other] == '1';
}

static char wanted(int one, int other)
{
    if (device[one] < 0 || device[other] < 0)
        return GPUBIND_PEER_NO_GPU;
    return reaches(device[one], device[other]) ? GPUBIND_PEER_DIRECT : GPUBIND_PEER_NONE;
}

static void matrix(int turn)
{
    struct gpubind_peers peers = {0};
    char *text = NULL;
    size_t length = 0;
    int lines = 0;
    FILE *to;

    job_test("gpubind_enable_peer_access: the matrix, call %d", turn);
    if (succeeds(gpubind_enable_peer_access(MPI_COMM_WORLD, &peers), "enable_peer_access") &&
        expect(peers.n == job.size && peers.access, "the matrix has %d rows", peers.n))
        for (int i = 0; i < job.size * job.size; i++) {
            int row = i / job.size, column = i % job.size;

            if (row != column)
                expect(peers.access[i] == wanted(row, column), "ranks %d and %d: %d, wanted %d",
                       row, column, peers.access[i], wanted(row, column));
            expect(peers.access[i] == peers.access[column * job.size + row],
                   "ranks %d and %d: not symmetric", row, column);
        }
    to = open_memstream(&text, &length);
    gpubind_peers_print(&peers, to);
    fclose(to);
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    expect(lines >= job.size, "the matrix is printed on %d lines", lines);
    if (job.rank == 0)
        for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
            printf("# %.*s\n", (int)strcspn(at, "\n"), at);
    free(text);
    gpubind_peers_clear(&peers);
    expect(!peers.access, "gpubind_peers_clear leaves the matrix");
    succeeds(gpubind_enable_peer_access(MPI_COMM_WORLD, NULL), "enable_peer_access without matrix");
    job_result();
}

/* The next rank with a GPU from rank in that direction, as the header says. */
static int neighbour(int rank, int step, bool periodic)
{
    if (device[rank] < 0)
        return MPI_PROC_NULL;
    for (int i = 1; i <= job.size; i++) {
        int at = rank + i * step;

        if (!periodic && (at < 0 || at >= job.size))
            return MPI_PROC_NULL;
        at = (at + job.size) % job.size;
        if (device[at] >= 0)
            return at;
    }
    return MPI_PROC_NULL;
}

static void neighbours(void)
{
    for (int periodic = 0; periodic < 2; periodic++) {
        int north = -9, south = -9, gpus = 0;

        for (int rank = 0; rank < job.size; rank++)
            gpus += device[rank] >= 0;
        job_test("gpubind_neighbors, %speriodic", periodic ? "" : "not ");
        succeeds(gpubind_neighbors(MPI_COMM_WORLD, periodic, &north, &south), "neighbors");
        if (gpus == 1 && periodic && device[job.rank] >= 0) { /* itself, or nobody */
            expect(north == south, "alone, but %d and %d", north, south);
        } else {
            is_int(north, neighbour(job.rank, -1, periodic), "north");
            is_int(south, neighbour(job.rank, 1, periodic), "south");
        }
        job_result();
    }
}

static void ranks_with_gpus(void)
{
    MPI_Comm gpus = MPI_COMM_WORLD;
    int before = 0, count = 0, rank = -1, size = -1;

    job_test("gpubind_comm_gpus: ranks with GPUs, in order, and messages in it");
    for (int i = 0; i < job.size; i++) {
        before += i < job.rank && device[i] >= 0;
        count += device[i] >= 0;
    }
    succeeds(gpubind_comm_gpus(MPI_COMM_WORLD, &gpus), "comm_gpus");
    if (device[job.rank] < 0) {
        expect(gpus == MPI_COMM_NULL, "a rank without a GPU has a communicator");
    } else if (expect(gpus != MPI_COMM_NULL && gpus != MPI_COMM_WORLD, "no communicator")) {
        struct buffer out, in;

        MPI_Comm_rank(gpus, &rank);
        MPI_Comm_size(gpus, &size);
        is_int(rank, before, "rank");
        is_int(size, count, "size");
        need_filled(&out, MEMORY_DEVICE, 5000, (uint64_t)rank);
        need_buffer(&in, MEMORY_DEVICE, 5000);
        succeeds(gpubind_sendrecv(out.at, 5000, MPI_BYTE, (rank + 1) % size, 1, in.at, 5000,
                                  MPI_BYTE, (rank + size - 1) % size, 1, gpus, MPI_STATUS_IGNORE),
                 "sendrecv");
        received(&in, 5000, (uint64_t)((rank + size - 1) % size), "sendrecv");
        buffer_clear(&out);
        buffer_clear(&in);
        MPI_Comm_free(&gpus);
    }
    job_result();
}

/* All devices are held by some rank, so that their numbers are the driver's. */
static void ranks_by_gpu(void)
{
    int highest = -1, rank;

    job_test("gpubind_rank_at: the lowest rank that holds a GPU");
    for (int i = 0; i < job.size; i++)
        highest = device[i] > highest ? device[i] : highest;
    for (int gpu = 0; gpu <= highest; gpu++) {
        int lowest = 0;

        while (device[lowest] != gpu)
            lowest++;
        rank = -9;
        succeeds(gpubind_rank_at(MPI_COMM_WORLD, 0, gpu, &rank), "rank_at GPU %d", gpu);
        is_int(rank, lowest, "the rank");
    }
    fails(gpubind_rank_at(MPI_COMM_WORLD, 0, highest + 1, &rank), MPI_ERR_RANK, NULL,
          "a GPU that is not");
    fails(gpubind_rank_at(MPI_COMM_WORLD, 7, 0, &rank), MPI_ERR_RANK, "7", "a node that is not");
    fails(gpubind_rank_at(MPI_COMM_WORLD, 0, -3, &rank), MPI_ERR_RANK, "-3", "a negative GPU");
    if (job.rank == job.size - 1 && highest >= 0)
        succeeds(gpubind_rank_at(MPI_COMM_WORLD, 0, 0, &rank), "local afterwards");
    job_result();
}

/* The path to another rank: all are on this node. */
static bool may_be_path(const char *name)
{
    const char *path = getenv("GPUBIND_PATH");

    if (path && strcmp(path, "network") == 0)
        return strcmp(name, "network") == 0;
    return strcmp(name, "shared") == 0 || (!path && strcmp(name, "ipc") == 0);
}

static void table_of_paths(void)
{
    char *text = NULL, *at, name[16];
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    int n = 0, rank;

    job_test("gpubind_paths_print: a path to each rank");
    succeeds(gpubind_paths_print(MPI_COMM_WORLD, to), "paths_print");
    fclose(to);
    for (at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
        if (sscanf(at, " %d %15s", &rank, name) == 2) {
            is_int(rank, n++, "the rank");
            expect(rank == job.rank ? strcmp(name, "self") == 0 : may_be_path(name),
                   "the path to rank %d is %s", rank, name);
        }
    is_int(n, job.size, "lines");
    free(text);
    job_result();
}

void test_where(void)
{
    int own = gpu_count ? 0 : -1;

    if (gpu_count)
        cuda.cuCtxGetDevice(&own);
    device = calloc((size_t)job.size, sizeof *device);
    MPI_Allgather(&own, 1, MPI_INT, device, 1, MPI_INT, job.plain);
    matrix(1);
    matrix(2);
    neighbours();
    ranks_with_gpus();
    ranks_by_gpu();
    table_of_paths();
    free(device);
}
