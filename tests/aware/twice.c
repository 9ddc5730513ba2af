/* Neighbourhood collectives in which a rank is a neighbour more than once: blocks of GPU memory come to the places
 * to which the MPI puts them in host memory. Also from MPI_BOTTOM, and of types without data. Rank 0 prints the
 * results. */
#include <mpi.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

enum { N = 4, BLOCK = 40000, ALL = N * BLOCK };
static const char *const names[] = {"MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv",
                                    "MPI_Neighbor_alltoallw"};

static void call(int which, const char *out, char *in, MPI_Comm comm)
{
    const int counts[N] = {BLOCK, BLOCK, BLOCK, BLOCK}, at[N] = {0, BLOCK, 2 * BLOCK, 3 * BLOCK};
    const MPI_Aint bytes[N] = {0, BLOCK, 2 * BLOCK, 3 * BLOCK};
    const MPI_Datatype types[N] = {MPI_BYTE, MPI_BYTE, MPI_BYTE, MPI_BYTE};

    if (which == 0)
        MPI_Neighbor_alltoall(out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE, comm);
    else if (which == 1)
        MPI_Neighbor_alltoallv(out, counts, at, MPI_BYTE, in, counts, at, MPI_BYTE, comm);
    else
        MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, comm);
}

static void check(const char *topology, MPI_Comm comm)
{
    static char out[ALL], wanted[ALL], got[ALL];
    char *gpu_out = device_alloc(ALL), *gpu_in = device_alloc(ALL);
    char text[100];

    for (int i = 0; i < ALL; i++)
        out[i] = (char)(16 * rank + i / BLOCK);
    for (int which = 0; which < 3; which++) {
        memset(wanted, 0x70, ALL);
        device_write(gpu_out, out, ALL);
        device_write(gpu_in, wanted, ALL);
        call(which, out, wanted, comm);
        call(which, gpu_out, gpu_in, comm);
        device_read(got, gpu_in, ALL);
        wrong += memcmp(got, wanted, ALL) != 0;
        snprintf(text, sizeof text, "%s, %s", topology, names[which]);
        result(text);
    }
    device_free(gpu_out);
    device_free(gpu_in);
    MPI_Comm_free(&comm);
}

/* ---- blocks anywhere in host and GPU memory, by MPI_BOTTOM and their addresses */

struct block {
    bool on_gpu;
    char *at;
};

static struct block make_block(bool on_gpu, int byte)
{
    struct block block = {on_gpu, on_gpu ? device_alloc(BLOCK) : malloc(BLOCK)};
    static char bytes[BLOCK];

    memset(bytes, byte, BLOCK);
    if (on_gpu)
        device_write(block.at, bytes, BLOCK);
    else
        memcpy(block.at, bytes, BLOCK);
    return block;
}

static void check_block(struct block *block, int byte)
{
    static char got[BLOCK];

    if (block->on_gpu)
        device_read(got, block->at, BLOCK);
    else
        memcpy(got, block->at, BLOCK);
    for (int i = 0; i < BLOCK; i++)
        wrong += got[i] != byte;
    if (block->on_gpu)
        device_free(block->at);
    else
        free(block->at);
}

/* kinds: a bit for each block, of those sent and then of those received: it is GPU memory. */
static void at_bottom(unsigned kinds, bool blocking, MPI_Comm comm)
{
    static const int counts[N] = {BLOCK, BLOCK, BLOCK, BLOCK};
    const MPI_Datatype types[N] = {MPI_BYTE, MPI_BYTE, MPI_BYTE, MPI_BYTE};
    struct block out[N], in[N];
    MPI_Aint from[N], to[N];
    MPI_Request request;

    for (int i = 0; i < N; i++) {
        out[i] = make_block(kinds >> i & 1, 10 + rank);
        in[i] = make_block(kinds >> (N + i) & 1, 0x70);
        MPI_Get_address(out[i].at, &from[i]);
        MPI_Get_address(in[i].at, &to[i]);
    }
    if (blocking) {
        MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types,
                               comm);
    } else {
        MPI_Ineighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types,
                                comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < N; i++) {
        check_block(&out[i], 10 + rank);
        check_block(&in[i], 10 + (i < 3 ? size - 1 - rank : rank));
    }
}

static void anywhere(MPI_Comm comm)
{
    static const unsigned kinds[] = {0, 0xff, 0x5a, 0x0f, 0xf0};

    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        at_bottom(kinds[i], true, comm);
        at_bottom(kinds[i], false, comm);
    }
    result("MPI_BOTTOM and addresses, in host memory, GPU memory and both");
}

/* Their extent says nothing of memory. */
static void without_data(MPI_Aint extent, const char *what)
{
    const int none = 0;
    char *gpu = device_alloc(64);
    MPI_Datatype empty, type;

    MPI_Type_indexed(1, &none, &none, MPI_INT, &empty);
    MPI_Type_create_resized(empty, 0, extent, &type);
    MPI_Type_commit(&type);
    wrong += MPI_Bcast(gpu, 3, type, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
    wrong += MPI_Sendrecv(gpu, 3, type, 0, 1, gpu + 32, 3, type, 0, 1, MPI_COMM_SELF,
                          MPI_STATUS_IGNORE) != MPI_SUCCESS;
    wrong += MPI_Allgather(gpu, 3, type, gpu + 32, 3, type, MPI_COMM_WORLD) != MPI_SUCCESS;
    MPI_Type_free(&empty);
    MPI_Type_free(&type);
    device_free(gpu);
    result(what);
}

int main(int argc, char **argv)
{
    const int periods[2] = {1, 1}, weights[N] = {1, 1, 1, 1};
    int sizes[2], edges[N];
    MPI_Comm comm, again;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    sizes[0] = size;
    sizes[1] = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &comm);
    check("a ring, each rank also its own neighbour", comm);
    for (int i = 0; i < N; i++)
        edges[i] = i < 3 ? size - 1 - rank : rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, N, edges, weights, N, edges, weights,
                                   MPI_INFO_NULL, 0, &comm);
    MPI_Comm_dup(comm, &again);
    check("edges that a graph has three times", comm);
    anywhere(again);
    MPI_Comm_free(&again);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    without_data(1 << 30, "types without data, of a large extent");
    without_data(-16, "types without data, of a negative extent");
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
