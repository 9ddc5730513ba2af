#include "mpi/core/rank_map.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_context.h"
#include "mpi/core/context.h"
#include "mpi/gpubind.h"

/* The launcher knows which ranks get no GPU; without it, all that see one have one. */
static bool role_is_without_gpu(void)
{
    const char *role = getenv("GPUBIND_ROLE");

    return role && *role && strcmp(role, "gpu") != 0;
}

/* The device of the current context; without one the first visible. Makes no context,
 * which takes 0.1 s. */
static void find_gpu(struct rank_info *rank)
{
    gpu_context context = NULL;
    int device = 0, count = 0;

    if (role_is_without_gpu() || gpu_start(NULL) < 0 || gpu_device_count(&count) != GPU_OK ||
        count < 1)
        return;
    if (gpu_context_current(&context) != GPU_OK || !context ||
        gpu_context_device(&device) != GPU_OK)
        device = 0;
    if (gpu_device_pci(rank->pci, sizeof rank->pci, device) != GPU_OK)
        return;
    for (char *c = rank->pci; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    rank->has_gpu = 1;
}

static void number_nodes(struct rank_map *rank_map)
{
    int nodes = 0;

    for (int i = 0; i < rank_map->n; i++) {
        struct rank_info *rank = &rank_map->ranks[i];

        rank->node = -1;
        for (int j = 0; j < i && rank->node < 0; j++)
            if (strcmp(rank_map->ranks[j].host, rank->host) == 0)
                rank->node = rank_map->ranks[j].node;
        if (rank->node < 0)
            rank->node = nodes++;
    }
}

/* The number of a GPU: how many of its node's come before it by PCI address. */
static void number_gpus(struct rank_map *rank_map)
{
    for (int i = 0; i < rank_map->n; i++) {
        struct rank_info *rank = &rank_map->ranks[i];

        rank->gpu = rank->has_gpu ? 0 : -1;
        for (int j = 0; rank->has_gpu && j < rank_map->n; j++) {
            const struct rank_info *other = &rank_map->ranks[j];
            bool counts = other->has_gpu && other->node == rank->node &&
                          strcmp(other->pci, rank->pci) < 0;

            for (int k = 0; counts && k < j; k++) /* once each */
                counts = rank_map->ranks[k].node != other->node ||
                         strcmp(rank_map->ranks[k].pci, other->pci) != 0;
            rank->gpu += counts;
        }
    }
}

const struct rank_map *rank_map_of(struct comm *comm, struct gpubind_error *err)
{
    struct rank_map *rank_map = comm->rank_map;
    struct rank_info mine = {.gpu = -1};
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length;

    if (rank_map)
        return rank_map;
    rank_map = calloc(1, sizeof *rank_map + (size_t)comm->size * sizeof *rank_map->ranks);
    if (!rank_map) {
        error_set(err, "out of memory");
        return NULL;
    }
    rank_map->n = comm->size;
    PMPI_Get_processor_name(host, &length);
    snprintf(mine.host, sizeof mine.host, "%.63s", host);
    find_gpu(&mine);
    library_barrier(comm->user);
    library_unlock();
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, rank_map->ranks, sizeof mine, MPI_BYTE,
                   comm->user);
    library_lock();
    number_nodes(rank_map);
    number_gpus(rank_map);
    comm->rank_map = rank_map;
    return rank_map;
}

void rank_map_clear(struct rank_map *rank_map)
{
    free(rank_map);
}

/* The places of the communicator's ranks; NULL with *result and a sentence. */
static const struct rank_map *rank_map_in(MPI_Comm user, struct comm **comm, int *result,
                                          struct gpubind_error *err)
{
    const struct rank_map *rank_map = NULL;

    *comm = library_comm(user, result, err);
    if (*comm)
        rank_map = rank_map_of(*comm, err);
    if (*comm && !rank_map)
        *result = MPI_ERR_OTHER;
    return rank_map;
}

static int find_rank(const struct rank_map *rank_map, int node, int gpu, int *rank,
                     struct gpubind_error *err)
{
    for (int i = 0; i < rank_map->n && gpu >= 0; i++)
        if (rank_map->ranks[i].node == node && rank_map->ranks[i].gpu == gpu) {
            *rank = i;
            return MPI_SUCCESS;
        }
    *rank = MPI_PROC_NULL;
    error_set(err, "no rank of the communicator has GPU %d of node %d", gpu, node);
    return MPI_ERR_RANK;
}

int gpubind_rank_at(MPI_Comm user, int node, int gpu, int *rank)
{
    const struct rank_map *rank_map;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_rank_at");
    rank_map = rank_map_in(user, &comm, &result, &err);
    if (rank_map)
        result = find_rank(rank_map, node, gpu, rank, &err);
    return library_leave(user, result, "gpubind_rank_at", &err);
}

static void find_neighbors(const struct rank_map *rank_map, int me, bool periodic, int *north,
                           int *south)
{
    const int n = rank_map->n;

    *north = *south = MPI_PROC_NULL;
    if (!rank_map->ranks[me].has_gpu)
        return;
    for (int step = 1; step <= n && *north == MPI_PROC_NULL; step++)
        if ((periodic || me - step >= 0) && rank_map->ranks[((me - step) % n + n) % n].has_gpu)
            *north = ((me - step) % n + n) % n;
    for (int step = 1; step <= n && *south == MPI_PROC_NULL; step++)
        if ((periodic || me + step < n) && rank_map->ranks[(me + step) % n].has_gpu)
            *south = (me + step) % n;
}

int gpubind_neighbors(MPI_Comm user, int periodic, int *north, int *south)
{
    const struct rank_map *rank_map;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_neighbors");
    rank_map = rank_map_in(user, &comm, &result, &err);
    if (rank_map)
        find_neighbors(rank_map, comm->rank, periodic, north, south);
    return library_leave(user, result, "gpubind_neighbors", &err);
}

int gpubind_comm_gpus(MPI_Comm user, MPI_Comm *gpus)
{
    const struct rank_map *rank_map;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_comm_gpus");
    *gpus = MPI_COMM_NULL;
    rank_map = rank_map_in(user, &comm, &result, &err);
    if (rank_map) {
        const int color = rank_map->ranks[comm->rank].has_gpu ? 0 : MPI_UNDEFINED;

        library_barrier(user);
        library_unlock();
        result = PMPI_Comm_split(user, color, comm->rank, gpus);
        library_lock();
    }
    if (result == MPI_SUCCESS && *gpus != MPI_COMM_NULL)
        result = comm_attach(*gpus, library_settings(), &err);
    return library_leave(user, result, "gpubind_comm_gpus", &err);
}
