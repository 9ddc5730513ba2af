#include "mpi/core/rank_map.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/gpu.h"
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
static void find_gpu(struct place *place)
{
    struct CUctx_st *context = NULL;
    int device = 0, count = 0;

    if (role_is_without_gpu() || gpu_start(NULL) < 0 ||
        gpu_driver()->cuDeviceGetCount(&count) != CUDA_OK || count < 1)
        return;
    if (gpu_driver()->cuCtxGetCurrent(&context) != CUDA_OK || !context ||
        gpu_driver()->cuCtxGetDevice(&device) != CUDA_OK)
        device = 0;
    if (gpu_driver()->cuDeviceGetPCIBusId(place->pci, sizeof place->pci, device) != CUDA_OK)
        return;
    for (char *c = place->pci; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    place->has_gpu = 1;
}

static void number_nodes(struct places *places)
{
    int nodes = 0;

    for (int i = 0; i < places->n; i++) {
        struct place *place = &places->place[i];

        place->node = -1;
        for (int j = 0; j < i && place->node < 0; j++)
            if (strcmp(places->place[j].host, place->host) == 0)
                place->node = places->place[j].node;
        if (place->node < 0)
            place->node = nodes++;
    }
}

/* The number of a GPU: how many of its node's come before it by PCI address. */
static void number_gpus(struct places *places)
{
    for (int i = 0; i < places->n; i++) {
        struct place *place = &places->place[i];

        place->gpu = place->has_gpu ? 0 : -1;
        for (int j = 0; place->has_gpu && j < places->n; j++) {
            const struct place *other = &places->place[j];
            bool counts = other->has_gpu && other->node == place->node &&
                          strcmp(other->pci, place->pci) < 0;

            for (int k = 0; counts && k < j; k++) /* once each */
                counts = places->place[k].node != other->node ||
                         strcmp(places->place[k].pci, other->pci) != 0;
            place->gpu += counts;
        }
    }
}

const struct places *places_of(struct comm *comm, struct gpubind_error *err)
{
    struct places *places = comm->places;
    struct place mine = {.gpu = -1};
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length;

    if (places)
        return places;
    places = calloc(1, sizeof *places + (size_t)comm->size * sizeof *places->place);
    if (!places) {
        error_set(err, "out of memory");
        return NULL;
    }
    places->n = comm->size;
    PMPI_Get_processor_name(host, &length);
    snprintf(mine.host, sizeof mine.host, "%.63s", host);
    find_gpu(&mine);
    library_meet(comm->user);
    library_unlock();
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, places->place, sizeof mine, MPI_BYTE, comm->user);
    library_lock();
    number_nodes(places);
    number_gpus(places);
    comm->places = places;
    return places;
}

void places_clear(struct places *places)
{
    free(places);
}

/* The places of the communicator's ranks; NULL with *result and a sentence. */
static const struct places *places_in(MPI_Comm user, struct comm **comm, int *result,
                                      struct gpubind_error *err)
{
    const struct places *places = NULL;

    *comm = library_comm(user, result, err);
    if (*comm)
        places = places_of(*comm, err);
    if (*comm && !places)
        *result = MPI_ERR_OTHER;
    return places;
}

static int find_rank(const struct places *places, int node, int gpu, int *rank,
                     struct gpubind_error *err)
{
    for (int i = 0; i < places->n && gpu >= 0; i++)
        if (places->place[i].node == node && places->place[i].gpu == gpu) {
            *rank = i;
            return MPI_SUCCESS;
        }
    *rank = MPI_PROC_NULL;
    error_set(err, "no rank of the communicator has GPU %d of node %d", gpu, node);
    return MPI_ERR_RANK;
}

int gpubind_rank_at(MPI_Comm user, int node, int gpu, int *rank)
{
    const struct places *places;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter();
    places = places_in(user, &comm, &result, &err);
    if (places)
        result = find_rank(places, node, gpu, rank, &err);
    return library_leave(user, result, "gpubind_rank_at", &err);
}

static void find_neighbors(const struct places *places, int me, bool periodic, int *north,
                           int *south)
{
    const int n = places->n;

    *north = *south = MPI_PROC_NULL;
    if (!places->place[me].has_gpu)
        return;
    for (int step = 1; step <= n && *north == MPI_PROC_NULL; step++)
        if ((periodic || me - step >= 0) && places->place[((me - step) % n + n) % n].has_gpu)
            *north = ((me - step) % n + n) % n;
    for (int step = 1; step <= n && *south == MPI_PROC_NULL; step++)
        if ((periodic || me + step < n) && places->place[(me + step) % n].has_gpu)
            *south = (me + step) % n;
}

int gpubind_neighbors(MPI_Comm user, int periodic, int *north, int *south)
{
    const struct places *places;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter();
    places = places_in(user, &comm, &result, &err);
    if (places)
        find_neighbors(places, comm->rank, periodic, north, south);
    return library_leave(user, result, "gpubind_neighbors", &err);
}

int gpubind_comm_gpus(MPI_Comm user, MPI_Comm *gpus)
{
    const struct places *places;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter();
    *gpus = MPI_COMM_NULL;
    places = places_in(user, &comm, &result, &err);
    if (places) {
        const int color = places->place[comm->rank].has_gpu ? 0 : MPI_UNDEFINED;

        library_meet(user);
        library_unlock();
        result = PMPI_Comm_split(user, color, comm->rank, gpus);
        library_lock();
    }
    if (result == MPI_SUCCESS && *gpus != MPI_COMM_NULL)
        result = comm_attach(*gpus, library_settings(), &err);
    return library_leave(user, result, "gpubind_comm_gpus", &err);
}
