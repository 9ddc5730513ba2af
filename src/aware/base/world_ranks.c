#include "aware/base/world_ranks.h"

#include <stdlib.h>

static MPI_Group all;
static int key = MPI_KEYVAL_INVALID;

/* An attribute of a communicator. Each rank is translated when it is first asked for: MPI compares it with those
 * of MPI_COMM_WORLD, and many are asked for few. */
struct ranks {
    MPI_Group group;
    int size;
    int world[]; /* of the group's ranks; NOT_YET */
};
#define NOT_YET (-1)

static int free_ranks(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    struct ranks *ranks = attribute;

    (void)comm, (void)keyval, (void)extra;
    PMPI_Group_free(&ranks->group);
    free(ranks);
    return MPI_SUCCESS;
}

bool world_ranks_start(void)
{
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_ranks, &key, NULL) == MPI_SUCCESS &&
           PMPI_Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS;
}

void world_ranks_end(void)
{
    PMPI_Comm_free_keyval(&key);
    PMPI_Group_free(&all);
}

static struct ranks *make_ranks(MPI_Comm comm)
{
    MPI_Group group = MPI_GROUP_NULL;
    struct ranks *ranks;
    int inter = 0, size = 0;

    PMPI_Comm_test_inter(comm, &inter);
    inter ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group);
    PMPI_Group_size(group, &size);
    ranks = malloc(sizeof *ranks + (size_t)size * sizeof ranks->world[0]);
    if (!ranks) {
        PMPI_Group_free(&group);
        return NULL;
    }
    ranks->group = group;
    ranks->size = size;
    for (int i = 0; i < size; i++)
        ranks->world[i] = NOT_YET;
    return ranks;
}

int world_rank(MPI_Comm comm, int rank)
{
    struct ranks *ranks = NULL;
    int found = 0;

    if (PMPI_Comm_get_attr(comm, key, &ranks, &found) != MPI_SUCCESS)
        return MPI_UNDEFINED;
    if (!found) {
        ranks = make_ranks(comm);
        if (!ranks || PMPI_Comm_set_attr(comm, key, ranks) != MPI_SUCCESS)
            return MPI_UNDEFINED;
    }
    if (rank < 0 || rank >= ranks->size)
        return MPI_UNDEFINED;
    if (ranks->world[rank] == NOT_YET)
        PMPI_Group_translate_ranks(ranks->group, 1, &rank, all, &ranks->world[rank]);
    return ranks->world[rank];
}
