#include "aware/base/world_ranks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/base/trace_part.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static MPI_Group all = MPI_GROUP_NULL;
static int key = MPI_KEYVAL_INVALID;
static int nusers;

/* An attribute of a communicator. Each rank is translated when it is first asked for: MPI compares it with those
 * of MPI_COMM_WORLD, and many are asked for few. */
struct world_ranks {
    MPI_Group group;
    atomic_int nusers; /* the communicator is one */
    bool hidden;
    int size;
    int world[]; /* of the group's ranks; NOT_YET */
};
#define NOT_YET (-1)

/* MPI calls it, too, perhaps with a lock of its own, which another thread waits for that holds this one. */
void world_ranks_release(struct world_ranks *ranks)
{
    if (!ranks || atomic_fetch_sub(&ranks->nusers, 1) > 1)
        return;
    PMPI_Group_free(&ranks->group);
    free(ranks);
}

static int free_ranks(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    world_ranks_release(attribute);
    return MPI_SUCCESS;
}

bool world_ranks_start(void)
{
    bool good = true;

    pthread_mutex_lock(&lock);
    if (nusers == 0)
        good = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_ranks, &key, NULL) ==
                   MPI_SUCCESS &&
               PMPI_Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS;
    nusers += good;
    pthread_mutex_unlock(&lock);
    return good;
}

void world_ranks_end(void)
{
    pthread_mutex_lock(&lock);
    if (--nusers == 0) {
        PMPI_Comm_free_keyval(&key);
        PMPI_Group_free(&all);
    }
    pthread_mutex_unlock(&lock);
}

struct world_ranks *world_ranks_of_group(MPI_Group group)
{
    struct world_ranks *ranks;
    int size = 0;

    PMPI_Group_size(group, &size);
    ranks = malloc(sizeof *ranks + (size_t)size * sizeof ranks->world[0]);
    if (!ranks) {
        PMPI_Group_free(&group);
        return NULL;
    }
    ranks->group = group;
    atomic_init(&ranks->nusers, 1);
    ranks->hidden = false;
    ranks->size = size;
    for (int i = 0; i < size; i++)
        ranks->world[i] = NOT_YET;
    return ranks;
}

static struct world_ranks *make_ranks(MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Group group = MPI_GROUP_NULL;
    struct world_ranks *ranks;
    int inter = 0, length;

    PMPI_Comm_test_inter(comm, &inter);
    inter ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group);
    ranks = world_ranks_of_group(group);
    PMPI_Comm_get_name(comm, name, &length);
    if (ranks)
        ranks->hidden = strcmp(name, TRACE_OWN_COMM) == 0;
    return ranks;
}

/* The lock is held. */
static struct world_ranks *find(MPI_Comm comm)
{
    struct world_ranks *ranks = NULL;
    int found = 0;

    if (nusers == 0 || PMPI_Comm_get_attr(comm, key, &ranks, &found) != MPI_SUCCESS)
        return NULL;
    if (!found) {
        ranks = make_ranks(comm);
        if (ranks && PMPI_Comm_set_attr(comm, key, ranks) != MPI_SUCCESS)
            return NULL;
    }
    return ranks;
}

/* The lock is held. */
static int translate(struct world_ranks *ranks, int rank)
{
    if (!ranks || nusers == 0 || rank < 0 || rank >= ranks->size)
        return MPI_UNDEFINED;
    if (ranks->world[rank] == NOT_YET)
        PMPI_Group_translate_ranks(ranks->group, 1, &rank, all, &ranks->world[rank]);
    return ranks->world[rank];
}

bool world_ranks_are_hidden(MPI_Comm comm)
{
    struct world_ranks *ranks;
    bool hidden;

    pthread_mutex_lock(&lock);
    ranks = find(comm);
    hidden = ranks && ranks->hidden;
    pthread_mutex_unlock(&lock);
    return hidden;
}

struct world_ranks *world_ranks_of(MPI_Comm comm)
{
    struct world_ranks *ranks;

    pthread_mutex_lock(&lock);
    ranks = find(comm);
    if (ranks)
        atomic_fetch_add(&ranks->nusers, 1);
    pthread_mutex_unlock(&lock);
    return ranks;
}

int world_ranks_at(struct world_ranks *ranks, int rank)
{
    int world;

    pthread_mutex_lock(&lock);
    world = translate(ranks, rank);
    pthread_mutex_unlock(&lock);
    return world;
}

int world_rank(MPI_Comm comm, int rank)
{
    int world;

    pthread_mutex_lock(&lock);
    world = translate(find(comm), rank);
    pthread_mutex_unlock(&lock);
    return world;
}
