/* gpubind_enable_peer_access: which ranks of a node can map each other's GPU memory. Each rank
 * tries to, since a rank that sees only its own GPU cannot query the driver about others. */
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "gpu/core/ipc_cache.h"
#include "mpi/core/context.h"
#include "mpi/core/rank_map.h"
#include "mpi/gpubind.h"
#include "mpi/p2p/device_memory.h"

struct sample { /* what each rank tells the others */
    int has_gpu;
    struct memory_export shared;
};

/* Exports a small buffer, which stays until the end or a reset of the device, as do its mappings. */
static int make_sample(struct sample *sample, struct gpubind_error *err)
{
    static void *buffer;
    static uint64_t id;
    struct memory memory = {0};

    sample->has_gpu = 1;
    if (buffer && (memory_of(buffer, &memory, err) < 0 || memory.id != id))
        buffer = NULL;
    if (!buffer &&
        (memory_allocate(&buffer, 1, err) != MPI_SUCCESS || memory_of(buffer, &memory, err) < 0))
        return -1;
    id = memory.id;
    if (!memory_export_of(&memory, &sample->shared))
        sample->shared.size = 0;
    return 0;
}

static char reach(struct comm *comm, const struct sample *samples, int rank)
{
    struct peer *peer = &comm->domain->peers[comm->domain_ranks[rank]];
    struct gpubind_error err;
    struct mapping *mapping;
    struct gpu *gpu;
    bool for_now;

    if (!samples[rank].has_gpu || !samples[comm->rank].has_gpu)
        return GPUBIND_PEER_NO_GPU;
    if (rank == comm->rank)
        return GPUBIND_PEER_DIRECT;
    if (peer->local < 0)
        return GPUBIND_PEER_REMOTE;
    gpu = gpu_current(&err);
    if (!gpu || samples[rank].shared.size == 0)
        return GPUBIND_PEER_NONE;
    mapping = mapping_open(peer, &samples[rank].shared, gpu, &for_now, &err);
    if (for_now) /* another was mapped before */
        return GPUBIND_PEER_DIRECT;
    peer->no_ipc = !mapping;
    peer->ipc_works = mapping;
    if (!mapping)
        return GPUBIND_PEER_NONE;
    mapping_done(mapping);
    return GPUBIND_PEER_DIRECT;
}

/* Two ranks reach each other only if both say so. */
static void make_symmetric(char *access, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (access[i * n + j] != access[j * n + i])
                access[i * n + j] = access[j * n + i] = GPUBIND_PEER_NONE;
}

/* Warns of all pairs in one sentence: 64 ranks have 2016 pairs. */
static void name_pairs(const struct comm *comm, const char *access)
{
    static bool said;
    const int n = comm->size;
    struct text pairs = {0};

    for (int i = 0; comm->rank == 0 && !said && i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (access[i * n + j] == GPUBIND_PEER_NONE)
                text_add(&pairs, "%s%d-%d", pairs.bytes ? ", " : "", i, j);
    if (pairs.bytes) {
        fprintf(stderr,
                "gpubind: the GPUs of these ranks cannot reach each other, their messages "
                "go through host memory: %s\n",
                pairs.bytes);
        said = true;
    }
    text_clear(&pairs);
}

/* Gathers nbytes of each rank on all ranks. */
static void gather(const void *mine, size_t nbytes, void *all, const struct comm *comm)
{
    library_barrier(comm->user);
    library_unlock();
    PMPI_Allgather(mine, (int)nbytes, MPI_BYTE, all, (int)nbytes, MPI_BYTE, comm->user);
    library_lock();
}

static int enable(struct comm *comm, char *access, struct gpubind_error *err)
{
    const struct rank_map *rank_map = rank_map_of(comm, err);
    struct sample mine = {0}, *samples = calloc((size_t)comm->size, sizeof *samples);
    char *row = calloc((size_t)comm->size, 1);
    int status = rank_map && samples && row ? 0 : -1;

    if (status == 0 && rank_map->ranks[comm->rank].has_gpu)
        make_sample(&mine, NULL);
    if (status == 0) {
        gather(&mine, sizeof mine, samples, comm);
        for (int rank = 0; rank < comm->size; rank++)
            row[rank] = reach(comm, samples, rank);
        gather(row, (size_t)comm->size, access, comm);
        make_symmetric(access, comm->size);
        name_pairs(comm, access);
    }
    free(samples);
    free(row);
    return status;
}

int gpubind_enable_peer_access(MPI_Comm user, struct gpubind_peers *peers)
{
    struct gpubind_error err = {"out of memory"};
    struct comm *comm;
    char *access = NULL;
    int result;

    library_enter("gpubind_enable_peer_access");
    if (peers)
        *peers = (struct gpubind_peers){0, NULL};
    comm = library_comm(user, &result, &err);
    if (comm) {
        access = calloc((size_t)comm->size, (size_t)comm->size);
        if (!access || enable(comm, access, &err) < 0)
            result = MPI_ERR_OTHER;
    }
    if (peers && result == MPI_SUCCESS)
        *peers = (struct gpubind_peers){comm->size, access};
    else
        free(access);
    return library_leave(user, result, "gpubind_enable_peer_access", &err);
}

void gpubind_peers_print(const struct gpubind_peers *peers, FILE *to)
{
    static const char *const words[] = {"no", "yes", "node", "-"};

    fprintf(to, "rank");
    for (int j = 0; j < peers->n; j++)
        fprintf(to, " %4d", j);
    fprintf(to, "\n");
    for (int i = 0; i < peers->n; i++) {
        fprintf(to, "%4d", i);
        for (int j = 0; j < peers->n; j++)
            fprintf(to, " %4s", words[(int)peers->access[i * peers->n + j]]);
        fprintf(to, "\n");
    }
}

void gpubind_peers_clear(struct gpubind_peers *peers)
{
    free(peers->access);
    *peers = (struct gpubind_peers){0, NULL};
}
