#include "bench/lib/ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/program.h"
#include "bench/lib/stats.h"
#include "mpi/gpubind.h"

double ranks_start(bool plain)
{
    double from = seconds_now(), took, slowest;

    if (plain)
        PMPI_Init(NULL, NULL);
    else
        MPI_Init(NULL, NULL);
    took = 1e3 * (seconds_now() - from);
    /* Errors of MPI are returned, to be reported by ranks_die. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

void ranks_end(bool plain)
{
    if (plain)
        PMPI_Finalize();
    else
        MPI_Finalize();
}

/* These communicators are made by PMPI, so that the library does not attach to them. */
static void find_nodes(struct ranks *ranks)
{
    MPI_Comm node;
    MPI_Group here, all;
    int there;

    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ranks->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &ranks->local);
    MPI_Comm_group(node, &here);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(all, 1, &ranks->peer, here, &there);
    ranks->one_node = there != MPI_UNDEFINED;
    MPI_Group_free(&here);
    MPI_Group_free(&all);
    PMPI_Comm_free(&node);
}

int ranks_local(void)
{
    MPI_Comm node;
    int local;

    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    PMPI_Comm_free(&node);
    return local;
}

int ranks_pair(bool all, struct ranks *ranks, struct gpubind_error *err)
{
    int half;

    memset(ranks, 0, sizeof *ranks);
    ranks->working = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks->n);
    if (ranks->n % 2)
        return error_set(err,
                         "pt2pt needs an even number of ranks, 2 at least; it has %d "
                         "(mpirun -np 2 gpubind gpubind-bench pt2pt)",
                         ranks->n);
    half = ranks->n / 2;
    ranks->npairs = all ? half : 1;
    ranks->lower = ranks->rank < half;
    ranks->peer = ranks->lower ? ranks->rank + half : ranks->rank - half;
    ranks->pair = ranks->rank % half;
    if (ranks->pair >= ranks->npairs)
        ranks->pair = -1;
    find_nodes(ranks);
    PMPI_Comm_split(MPI_COMM_WORLD, ranks->pair < 0 ? MPI_UNDEFINED : 0, ranks->rank,
                    &ranks->working);
    return 0;
}

void ranks_clear(struct ranks *ranks)
{
    if (ranks->working != MPI_COMM_NULL)
        PMPI_Comm_free(&ranks->working);
}

int ranks_agree(MPI_Comm comm, int status, struct gpubind_error *err)
{
    int rank, n, mine, lowest;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    mine = status ? rank : n;
    MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, comm);
    if (lowest == n)
        return 0;
    MPI_Bcast(err->text, (int)sizeof err->text, MPI_CHAR, lowest, comm);
    MPI_Bcast(&status, 1, MPI_INT, lowest, comm);
    return status;
}

void ranks_die(const char *format, ...)
{
    struct gpubind_error err;
    int rank, length;
    va_list args;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    length = snprintf(err.text, sizeof err.text, "rank %d: ", rank);
    va_start(args, format);
    vsnprintf(err.text + length, sizeof err.text - (size_t)length, format, args);
    va_end(args);
    bench_fail(&err);
    MPI_Abort(MPI_COMM_WORLD, EXIT_OWN);
    exit(EXIT_OWN);
}

void ranks_need(int status)
{
    if (status != MPI_SUCCESS)
        ranks_die("%s", gpubind_error_text());
}
