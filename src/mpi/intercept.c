/* Stands in for the MPI functions after which something must be prepared; each calls
 * the real one by its PMPI name, and returns what that returned. */
#include "mpi/intercept.h"

#include "mpi/gpubind.h"
#include "mpi/library.h"

#define STANDS_IN GPUBIND_PUBLIC

void gpubind_intercept_started(void)
{
    gpubind_init();
}

void gpubind_intercept_ending(void)
{
    gpubind_finalize();
}

void gpubind_intercept_made(MPI_Comm comm)
{
    int inter;

    if (!library_started() || comm == MPI_COMM_NULL)
        return;
    PMPI_Comm_test_inter(comm, &inter);
    if (!inter)
        gpubind_comm_attach(comm);
}

static int started(int result)
{
    if (result == MPI_SUCCESS)
        gpubind_intercept_started();
    return result;
}

static int made(int result, const MPI_Comm *comm)
{
    if (result == MPI_SUCCESS)
        gpubind_intercept_made(*comm);
    return result;
}

STANDS_IN int MPI_Init(int *argc, char ***argv)
{
    return started(PMPI_Init(argc, argv));
}

STANDS_IN int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return started(PMPI_Init_thread(argc, argv, required, provided));
}

STANDS_IN int MPI_Finalize(void)
{
    gpubind_intercept_ending();
    return PMPI_Finalize();
}

STANDS_IN int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    return made(PMPI_Comm_dup(comm, newcomm), newcomm);
}

STANDS_IN int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    return made(PMPI_Comm_dup_with_info(comm, info, newcomm), newcomm);
}

STANDS_IN int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    return made(PMPI_Comm_split(comm, color, key, newcomm), newcomm);
}

STANDS_IN int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                  MPI_Comm *newcomm)
{
    return made(PMPI_Comm_split_type(comm, type, key, info, newcomm), newcomm);
}

STANDS_IN int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    return made(PMPI_Comm_create(comm, group, newcomm), newcomm);
}

STANDS_IN int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    return made(PMPI_Comm_create_group(comm, group, tag, newcomm), newcomm);
}

STANDS_IN int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[],
                              int reorder, MPI_Comm *newcomm)
{
    return made(PMPI_Cart_create(comm, ndims, dims, periods, reorder, newcomm), newcomm);
}

STANDS_IN int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *newcomm)
{
    return made(PMPI_Cart_sub(comm, remain, newcomm), newcomm);
}

STANDS_IN int MPI_Graph_create(MPI_Comm comm, int nnodes, const int index[], const int edges[],
                               int reorder, MPI_Comm *newcomm)
{
    return made(PMPI_Graph_create(comm, nnodes, index, edges, reorder, newcomm), newcomm);
}

STANDS_IN int MPI_Dist_graph_create(MPI_Comm comm, int n, const int nodes[], const int degrees[],
                                    const int targets[], const int weights[], MPI_Info info,
                                    int reorder, MPI_Comm *newcomm)
{
    return made(PMPI_Dist_graph_create(comm, n, nodes, degrees, targets, weights, info, reorder,
                                       newcomm), newcomm);
}

STANDS_IN int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                             const int sourceweights[], int outdegree,
                                             const int targets[], const int targetweights[],
                                             MPI_Info info, int reorder, MPI_Comm *newcomm)
{
    return made(PMPI_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree,
                                                targets, targetweights, info, reorder, newcomm),
                newcomm);
}

STANDS_IN int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newcomm)
{
    return made(PMPI_Intercomm_merge(intercomm, high, newcomm), newcomm);
}

#if MPI_VERSION >= 4
STANDS_IN int MPI_Comm_create_from_group(MPI_Group group, const char *tag, MPI_Info info,
                                         MPI_Errhandler handler, MPI_Comm *newcomm)
{
    return made(PMPI_Comm_create_from_group(group, tag, info, handler, newcomm), newcomm);
}
#endif
