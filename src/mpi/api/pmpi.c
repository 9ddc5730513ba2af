/* Intercepts the MPI functions that initialize and finalize MPI or make communicators. Each calls
 * the PMPI function, and returns what that returns. */
#include "mpi/api/pmpi.h"

#include "mpi/core/context.h"
#include "mpi/gpubind.h"

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

CONSTRUCTOR(MPI_Comm_dup, comm, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))
CONSTRUCTOR(MPI_Comm_dup_with_info, comm, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm),
            (comm, info, newcomm))
CONSTRUCTOR(MPI_Comm_split, comm, (MPI_Comm comm, int color, int key, MPI_Comm *newcomm),
            (comm, color, key, newcomm))
CONSTRUCTOR(MPI_Comm_split_type, comm,
            (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *newcomm),
            (comm, type, key, info, newcomm))
CONSTRUCTOR(MPI_Comm_create, comm, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm),
            (comm, group, newcomm))
/* Not collective over comm. */
CONSTRUCTOR(MPI_Comm_create_group, MPI_COMM_NULL,
            (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm),
            (comm, group, tag, newcomm))
CONSTRUCTOR(MPI_Cart_create, comm,
            (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
             MPI_Comm *newcomm),
            (comm, ndims, dims, periods, reorder, newcomm))
CONSTRUCTOR(MPI_Cart_sub, comm, (MPI_Comm comm, const int remain[], MPI_Comm *newcomm),
            (comm, remain, newcomm))
CONSTRUCTOR(MPI_Graph_create, comm,
            (MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder,
             MPI_Comm *newcomm),
            (comm, nnodes, index, edges, reorder, newcomm))
CONSTRUCTOR(MPI_Dist_graph_create, comm,
            (MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[],
             const int weights[], MPI_Info info, int reorder, MPI_Comm *newcomm),
            (comm, n, nodes, degrees, targets, weights, info, reorder, newcomm))
CONSTRUCTOR(MPI_Dist_graph_create_adjacent, comm,
            (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[],
             int outdegree, const int targets[], const int targetweights[], MPI_Info info,
             int reorder, MPI_Comm *newcomm),
            (comm, indegree, sources, sourceweights, outdegree, targets, targetweights, info,
             reorder, newcomm))
CONSTRUCTOR(MPI_Intercomm_merge, intercomm, (MPI_Comm intercomm, int high, MPI_Comm *newcomm),
            (intercomm, high, newcomm))
CONSTRUCTOR(MPI_Intercomm_create, comm,
            (MPI_Comm comm, int leader, MPI_Comm peer, int other, int tag, MPI_Comm *newcomm),
            (comm, leader, peer, other, tag, newcomm))
CONSTRUCTOR(MPI_Comm_accept, comm,
            (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
            (port, info, root, comm, newcomm))
CONSTRUCTOR(MPI_Comm_connect, comm,
            (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
            (port, info, root, comm, newcomm))
CONSTRUCTOR(MPI_Comm_spawn, comm,
            (const char *command, char *argv[], int most, MPI_Info info, int root, MPI_Comm comm,
             MPI_Comm *newcomm, int codes[]),
            (command, argv, most, info, root, comm, newcomm, codes))
CONSTRUCTOR(MPI_Comm_spawn_multiple, comm,
            (int n, char *commands[], char **argvs[], const int most[], const MPI_Info infos[],
             int root, MPI_Comm comm, MPI_Comm *newcomm, int codes[]),
            (n, commands, argvs, most, infos, root, comm, newcomm, codes))
CONSTRUCTOR(MPI_Comm_join, MPI_COMM_NULL, (int descriptor, MPI_Comm *newcomm),
            (descriptor, newcomm))
#if MPI_VERSION >= 4
CONSTRUCTOR(MPI_Comm_create_from_group, MPI_COMM_NULL,
            (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler,
             MPI_Comm *newcomm),
            (group, tag, info, handler, newcomm))
#endif
