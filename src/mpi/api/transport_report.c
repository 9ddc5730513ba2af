/* Prints settings and paths: gpubind_paths_print and GPUBIND_VERBOSE. */
#include "mpi/api/transport_report.h"

#include "mpi/core/context.h"
#include "mpi/core/transport.h"
#include "mpi/gpubind.h"
#include "mpi/transport/chunk_ring.h"

void paths_print_settings(FILE *to, double milliseconds)
{
    const struct settings *settings = library_settings();
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0)
        return;
    fprintf(to,
            "gpubind: path %s, eager up to %ld bytes, copy kernel of %ld blocks, at most %ld "
            "mappings; started in %.1f ms\n",
            settings->path, settings->eager, settings->copy_blocks, settings->mappings,
            milliseconds);
    fprintf(to, "gpubind: chunks of");
    for (uint64_t nbytes = 1u << 20; nbytes <= 64u << 20; nbytes *= 8)
        fprintf(to, " %zu KiB for %llu MiB%s", chunk_bytes_of(nbytes) >> 10,
                (unsigned long long)(nbytes >> 20), nbytes < 64u << 20 ? "," : "\n");
}

/* The path of GPU memory between this rank and another. */
static void print_row(const struct comm *comm, int rank, FILE *to)
{
    const struct settings *settings = library_settings();
    const struct domain *domain = comm->domain;
    const enum transport_kind kind = transport_to(domain, &domain->peers[comm->domain_ranks[rank]]);

    fprintf(to, "%4d  %-7s  ", rank, transport_row(kind)->name);
    if (kind == TRANSPORT_SELF)
        fprintf(to, "one copy\n");
    else if (kind == TRANSPORT_IPC)
        fprintf(to,
                "one copy; several at once: %ld blocks of a kernel up to 512 KiB each, "
                "a batch above\n",
                settings->copy_blocks);
    else if (kind == TRANSPORT_SHM)
        fprintf(to, "chunks of 256 KiB, 1 MiB from 4 MiB, 2 MiB from 24 MiB\n");
    else if (kind == TRANSPORT_MPI_DIRECT)
        fprintf(to, "up to %ld bytes with the header, else MPI takes the pointer\n",
                settings->eager);
    else
        fprintf(to,
                "up to %ld bytes with the header, else chunks of 256 KiB, "
                "1 MiB from 4 MiB\n",
                settings->eager);
}

int gpubind_paths_print(MPI_Comm user, FILE *to)
{
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_paths_print");
    comm = library_comm(user, &result, &err);
    if (comm) {
        fprintf(to, "GPU memory from rank %d\nrank  path\n", comm->rank);
        for (int rank = 0; rank < comm->size; rank++)
            print_row(comm, rank, to);
    }
    return library_leave(user, result, "gpubind_paths_print", &err);
}
