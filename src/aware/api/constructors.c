/* The functions that make communicators, and those that make others inside MPI (MPI_File_open): counted while they
 * run. */
#include "aware/base/creations.h"
#include "aware/request/calls.h"

#define MAKES(name, parameters, arguments) \
    NEXT(name)                             \
    AWARE_PUBLIC int name parameters       \
    {                                      \
        MAKES_COMMUNICATOR;                \
        return next_of_##name() arguments; \
    }

MAKES(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MAKES(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
MAKES(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
      (comm, group, tag, made))
MAKES(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
MAKES(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
      (comm, type, key, info, made))
MAKES(MPI_Intercomm_create,
      (MPI_Comm comm, int leader, MPI_Comm peers, int other, int tag, MPI_Comm *made),
      (comm, leader, peers, other, tag, made))
MAKES(MPI_Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))
MAKES(MPI_Cart_create,
      (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *made),
      (comm, n, dims, periods, reorder, made))
MAKES(MPI_Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made))
MAKES(MPI_Graph_create,
      (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm *made),
      (comm, n, index, edges, reorder, made))
MAKES(MPI_Dist_graph_create,
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int to[],
       const int weights[], MPI_Info info, int reorder, MPI_Comm *made),
      (comm, n, sources, degrees, to, weights, info, reorder, made))
MAKES(MPI_Dist_graph_create_adjacent,
      (MPI_Comm comm, int nin, const int in[], const int win[], int nout, const int out[],
       const int wout[], MPI_Info info, int reorder, MPI_Comm *made),
      (comm, nin, in, win, nout, out, wout, info, reorder, made))
MAKES(MPI_Comm_accept, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
      (port, info, root, comm, made))
MAKES(MPI_Comm_connect, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
      (port, info, root, comm, made))
MAKES(MPI_Comm_join, (int descriptor, MPI_Comm *made), (descriptor, made))
MAKES(MPI_File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *made),
      (comm, name, mode, info, made))
MAKES(MPI_Win_allocate_shared,
      (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *made),
      (size, unit, info, comm, base, made))
#if MPI_VERSION >= 4
MAKES(MPI_Win_allocate_shared_c,
      (MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *made),
      (size, unit, info, comm, base, made))
#endif
#ifdef AWARE_MPI_4
MAKES(MPI_Comm_create_from_group,
      (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *made),
      (group, tag, info, handler, made))
MAKES(MPI_Intercomm_create_from_groups,
      (MPI_Group group, int leader, MPI_Group others, int other, const char *tag, MPI_Info info,
       MPI_Errhandler handler, MPI_Comm *made),
      (group, leader, others, other, tag, info, handler, made))
#endif

/* The same until its request is complete. */
#define MAKES_LATER(name, parameters, arguments)                                        \
    NEXT(name)                                                                          \
    AWARE_PUBLIC int name parameters                                                    \
    {                                                                                   \
        const bool makes = creation_begin();                                            \
        const int result = next_of_##name() arguments;                                  \
                                                                                        \
        if (!makes || (result == MPI_SUCCESS && requests_add_creation(*request, comm))) \
            return result;                                                              \
        creation_end(&makes);                                                           \
        return result;                                                                  \
    }
MAKES_LATER(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request),
            (comm, made, request))
#ifdef AWARE_MPI_4
MAKES_LATER(MPI_Comm_idup_with_info,
            (MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request),
            (comm, info, made, request))
#endif
