/* Neighbourhood collectives with blocks of all sizes: what ranks get from their neighbours, in whatever topology,
 * is what they get with host memory. */
#include "tests/aware/large.h"

#include <stdlib.h>
#include <string.h>

enum { EDGES_MOST = 12, ROW = 64, PITCH = 96, CALLS = 5, UNDEFINED = 0x55 };

static const char *const names[CALLS] = {"MPI_Neighbor_allgather", "MPI_Neighbor_allgatherv",
                                         "MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv",
                                         "MPI_Neighbor_alltoallw"};

/* ---- topologies */

static const int weights[EDGES_MOST] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static MPI_Comm cartesian(int width, int height, int periodic)
{
    const int sizes[2] = {width, height}, periods[2] = {periodic, periodic};
    MPI_Comm comm;

    MPI_Cart_create(job.plain, 2, sizes, periods, 0, &comm);
    return comm;
}

static MPI_Comm ring_graph(void)
{
    int index[RANKS_MOST], edges[2 * RANKS_MOST];
    MPI_Comm comm;

    for (int i = 0; i < job.size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + job.size - 1) % job.size;
        edges[2 * i + 1] = (i + 1) % job.size;
    }
    MPI_Graph_create(job.plain, job.size, index, edges, 0, &comm);
    return comm;
}

/* Twice to the next rank, once to itself, and once to the one behind the next. */
static MPI_Comm distributed(void)
{
    const int n = job.size, rank = job.rank;
    const int destinations[4] = {(rank + 1) % n, rank, (rank + 1) % n, (rank + 2) % n};
    const int sources[4] = {(rank + n - 1) % n, (rank + n - 1) % n, rank, (rank + 2 * n - 2) % n};
    MPI_Comm comm;

    MPI_Dist_graph_create_adjacent(job.plain, 4, sources, weights, 4, destinations, weights,
                                   MPI_INFO_NULL, 0, &comm);
    return comm;
}

/* Rank 0 sends to all others, and gets nothing. */
static MPI_Comm star(void)
{
    int others[RANKS_MOST], root = 0;
    MPI_Comm comm;

    for (int i = 1; i < job.size; i++)
        others[i - 1] = i;
    MPI_Dist_graph_create_adjacent(job.plain, job.rank > 0, &root, weights,
                                   job.rank > 0 ? 0 : job.size - 1, others, weights, MPI_INFO_NULL,
                                   0, &comm);
    return comm;
}

static int edges_of(MPI_Comm comm, bool in)
{
    int kind, nin = 0, nout = 0, weighted;

    MPI_Topo_test(comm, &kind);
    if (kind == MPI_CART)
        nin = nout = 4;
    else if (kind == MPI_GRAPH)
        nin = nout = 2;
    else
        MPI_Dist_graph_neighbors_count(comm, &nin, &nout, &weighted);
    return in ? nin : nout;
}

/* ---- calls */

/* Blocks of a buffer, in the order of their neighbours, or against it. */
struct blocks {
    int counts[EDGES_MOST], displs[EDGES_MOST];
    MPI_Aint bytes[EDGES_MOST];
    MPI_Datatype types[EDGES_MOST];
};

static void set_blocks(struct blocks *blocks, int n, int nbytes, MPI_Datatype rows, bool backwards)
{
    for (int i = 0; i < n; i++) {
        blocks->counts[i] = nbytes;
        blocks->displs[i] = nbytes * (backwards ? n - 1 - i : i);
        blocks->bytes[i] = (MPI_Aint)nbytes * 2 * i;
        blocks->types[i] = rows;
    }
}

/* All blocks have nbytes, a multiple of ROW. */
static int make(int which, const char *out, char *in, int nbytes, MPI_Comm comm)
{
    struct blocks send = {0}, receive = {0};
    MPI_Datatype rows;
    int result, ones[EDGES_MOST];

    MPI_Type_vector(nbytes / ROW, ROW, PITCH, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    for (int i = 0; i < EDGES_MOST; i++)
        ones[i] = 1;
    set_blocks(&send, edges_of(comm, false), nbytes, rows, false);
    set_blocks(&receive, edges_of(comm, true), nbytes, rows, true);
    if (which == 0)
        result = MPI_Neighbor_allgather(out, nbytes, MPI_BYTE, in, nbytes, MPI_BYTE, comm);
    else if (which == 1)
        result = MPI_Neighbor_allgatherv(out, nbytes, MPI_BYTE, in, receive.counts, receive.displs,
                                         MPI_BYTE, comm);
    else if (which == 2)
        result = MPI_Neighbor_alltoall(out, nbytes, MPI_BYTE, in, nbytes, MPI_BYTE, comm);
    else if (which == 3)
        result = MPI_Neighbor_alltoallv(out, send.counts, send.displs, MPI_BYTE, in, receive.counts,
                                        receive.displs, MPI_BYTE, comm);
    else
        result = MPI_Neighbor_alltoallw(out, ones, send.bytes, send.types, in, ones, receive.bytes,
                                        receive.types, comm);
    MPI_Type_free(&rows);
    return result;
}

static void check_call(int which, int nbytes, MPI_Comm comm, enum memory from, enum memory to)
{
    const size_t room = (size_t)nbytes * 2 * EDGES_MOST;
    char *host = malloc(3 * room), *wanted = host + room, *got = host + 2 * room;
    struct buffer out, in;

    if (!host)
        abort();
    need_buffer(&out, from, room);
    need_buffer(&in, to, room);
    bytes_of_seed(host, room, draw_seed() + (uint64_t)job.rank);
    memset(wanted, UNDEFINED, room);
    gpu_put(out.at, host, room);
    gpu_put(in.at, wanted, room);
    is_int(make(which, out.at, in.at, nbytes, comm), MPI_SUCCESS, names[which]);
    is_int(make(which, host, wanted, nbytes, comm), MPI_SUCCESS, names[which]);
    gpu_get(got, in.at, room);
    expect(memcmp(got, wanted, room) == 0, "%s of %d bytes: other bytes than with host memory",
           names[which], nbytes);
    gpu_get(got, out.at, room);
    expect(memcmp(got, host, room) == 0, "%s of %d bytes has changed what is sent", names[which],
           nbytes);
    buffer_clear(&out);
    buffer_clear(&in);
    free(host);
}

static void test_topology(const char *name, MPI_Comm comm)
{
    static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_POOL, MEMORY_MANAGED, MEMORY_HOST};
    static const int sizes[] = {ROW, 40 * ROW, 1000 * ROW};

    job_test("neighbours of %s", name);
    for (int which = 0; which < CALLS && comm != MPI_COMM_NULL; which++)
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            check_call(which, sizes[i], comm, MEMORY_DEVICE, MEMORY_DEVICE);
            check_call(which, sizes[i], comm, kinds[draw(4)], kinds[draw(4)]);
            check_call(which, sizes[i], comm, job.rank == 0 ? MEMORY_HOST : MEMORY_DEVICE,
                       MEMORY_DEVICE);
        }
    job_result();
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

/* ---- at the edge of a grid */

enum { SIDES = 4, CELLS = 1000 };

static void begin_call(int which, MPI_Comm grid, int *out, int *in, MPI_Request *request)
{
    const int counts[SIDES] = {CELLS, CELLS, CELLS, CELLS};
    const int displs[SIDES] = {0, CELLS, 2 * CELLS, 3 * CELLS};
    const MPI_Datatype types[SIDES] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    MPI_Aint places[SIDES];

    for (int i = 0; i < SIDES; i++)
        places[i] = displs[i] * (MPI_Aint)sizeof(int);
    switch (which) {
    case 0:
        MPI_Ineighbor_allgather(out, CELLS, MPI_INT, in, CELLS, MPI_INT, grid, request);
        break;
    case 1:
        MPI_Ineighbor_allgatherv(out, CELLS, MPI_INT, in, counts, displs, MPI_INT, grid, request);
        break;
    case 2:
        MPI_Ineighbor_alltoall(out, CELLS, MPI_INT, in, CELLS, MPI_INT, grid, request);
        break;
    case 3:
        MPI_Ineighbor_alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, grid,
                                request);
        break;
    default:
        MPI_Ineighbor_alltoallw(out, counts, places, types, in, counts, places, types, grid,
                                request);
    }
}

/* The ghost cells of a side without a neighbour are the program's, also while a call is under way. */
static void test_edges(int which)
{
    const size_t side = CELLS * sizeof(int), all = SIDES * side;
    int ranks[SIDES], *host = malloc(all);
    MPI_Comm grid = cartesian(job.size, 1, 0);
    struct buffer out, in;
    MPI_Request request;

    job_test("%s, begun: cells beyond the edge stay as they were set meanwhile", names[which]);
    MPI_Cart_shift(grid, 0, 1, &ranks[0], &ranks[1]);
    MPI_Cart_shift(grid, 1, 1, &ranks[2], &ranks[3]);
    need_buffer(&out, MEMORY_DEVICE, all);
    need_buffer(&in, MEMORY_DEVICE, all);
    for (int i = 0; host && i < SIDES * CELLS; i++)
        host[i] = job.rank;
    gpu_put(out.at, host, all);
    buffer_reset(&in);
    begin_call(which, grid, (int *)(void *)out.at, (int *)(void *)in.at, &request);
    for (int i = 0; host && i < SIDES; i++)
        if (ranks[i] == MPI_PROC_NULL) {
            for (int cell = 0; cell < CELLS; cell++)
                host[cell] = -7;
            gpu_put(in.at + (size_t)i * side, host, side);
        }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    gpu_get(host, in.at, all);
    for (int i = 0; host && i < SIDES * CELLS; i += CELLS / 4)
        is_int(host[i], ranks[i / CELLS] == MPI_PROC_NULL ? -7 : ranks[i / CELLS], "a ghost cell");
    buffer_clear(&in);
    buffer_clear(&out);
    MPI_Comm_free(&grid);
    free(host);
    job_result();
}

void test_neighbours(void)
{
    const int width = job.size % 2 ? job.size : job.size / 2;

    test_topology("a torus", cartesian(width, job.size / width, 1));
    test_topology("a torus of one row", cartesian(job.size, 1, 1));
    test_topology("a grid", cartesian(width, job.size / width, 0));
    test_topology("a ring as a graph", ring_graph());
    test_topology("a graph with edges twice, and to oneself", distributed());
    test_topology("a star", star());
    for (int which = 0; which < CALLS; which++)
        test_edges(which);
}
