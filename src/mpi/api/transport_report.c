#include "mpi/api/transport_report.h"

#include "mpi/core/context.h"
#include "mpi/core/mpi_caps.h"
#include "mpi/gpubind.h"
#include "mpi/p2p/rndv_staged_shm.h"

/* What happens to GPU memory between this rank and another, by size. */
static enum path path_to(const struct comm *comm, int rank)
{
    const struct peer *peer = &comm->domain->peers[comm->domain_ranks[rank]];
    const enum path forced = library_settings()->path;

    if (peer->local < 0)
        return (forced == PATH_ANY || forced == PATH_DIRECT) && mpi_is_aware() ? PATH_DIRECT
                                                                               : PATH_NETWORK;
    return !peer->no_ipc && (forced == PATH_ANY || forced == PATH_IPC) ? PATH_IPC : PATH_SHARED;
}

void paths_print_settings(FILE *to, double milliseconds)
{
    const struct settings *settings = library_settings();
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0)
        return;
    fprintf(to, "gpubind: path %s, eager up to %ld bytes, copy kernel of %ld blocks, at most %ld "
            "mappings; started in %.1f ms\n", path_name(settings->path), settings->eager,
            settings->copy_blocks, settings->mappings, milliseconds);
    fprintf(to, "gpubind: chunks of");
    for (uint64_t nbytes = 1u << 20; nbytes <= 64u << 20; nbytes *= 8)
        fprintf(to, " %zu KiB for %llu MiB%s", stage_chunk(nbytes) >> 10,
                (unsigned long long)(nbytes >> 20), nbytes < 64u << 20 ? "," : "\n");
}

static void print_row(const struct comm *comm, int rank, FILE *to)
{
    const long eager = library_settings()->eager;

    fprintf(to, "%4d  ", rank);
    switch (path_to(comm, rank)) {
    case PATH_IPC:
        fprintf(to, "ipc      one copy; several at once: %ld blocks of a kernel up to 512 KiB each, "
                "a batch above\n", library_settings()->copy_blocks);
        break;
    case PATH_SHARED:
        fprintf(to, "shared   chunks of 256 KiB, 1 MiB from 4 MiB, 2 MiB from 24 MiB\n");
        break;
    case PATH_DIRECT:
        fprintf(to, "direct   up to %ld bytes with the header, else MPI takes the pointer\n",
                eager);
        break;
    default:
        fprintf(to, "network  up to %ld bytes with the header, else chunks of 256 KiB, "
                "1 MiB from 4 MiB\n", eager);
        break;
    }
}

int gpubind_paths_print(MPI_Comm user, FILE *to)
{
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter();
    comm = library_comm(user, &result, &err);
    if (comm) {
        fprintf(to, "GPU memory from rank %d\nrank  path\n", comm->rank);
        for (int rank = 0; rank < comm->size; rank++)
            print_row(comm, rank, to);
    }
    return library_leave(user, result, "gpubind_paths_print", &err);
}
