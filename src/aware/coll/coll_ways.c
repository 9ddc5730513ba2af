#include "aware/coll/coll_ways.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/next.h"

static const struct {
    const char *name;
    struct coll_ways ways;
} known[] = {
    {"auto", {true, true, false}},
    {"staged", {false, false, false}},
    {"messages", {true, false, false}},
    {"nccl", {true, true, true}},
};

static struct coll_ways asked_for(void)
{
    const char *asked = getenv("GPUBIND_COLLECTIVES");

    for (size_t i = 0; asked && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(asked, known[i].name) == 0)
            return known[i].ways;
    if (asked && *asked)
        fprintf(stderr,
                "gpubind: GPUBIND_COLLECTIVES is auto, staged, messages or nccl, not \"%s\"; taken "
                "as auto\n",
                asked);
    return known[0].ways;
}

/* MPI's name is that of another object than its PMPI name. libgpubind, which stands in for some, is no
 * profiler. */
static bool is_profiled(const char *pname)
{
    Dl_info behind, mpi;

    return dladdr(next_function(pname + 1), &behind) && dladdr(next_function(pname), &mpi) &&
           behind.dli_fbase != mpi.dli_fbase && !strstr(behind.dli_fname, "libgpubind");
}

static bool has_profiler_behind(void)
{
    static const char *const names[] = {
        "PMPI_Bcast",
        "PMPI_Gather",
        "PMPI_Gatherv",
        "PMPI_Scatter",
        "PMPI_Scatterv",
        "PMPI_Allgather",
        "PMPI_Allgatherv",
        "PMPI_Alltoall",
        "PMPI_Alltoallv",
        "PMPI_Alltoallw",
        "PMPI_Neighbor_allgather",
        "PMPI_Neighbor_allgatherv",
        "PMPI_Neighbor_alltoall",
        "PMPI_Neighbor_alltoallv",
        "PMPI_Neighbor_alltoallw",
        "PMPI_Reduce",
        "PMPI_Allreduce",
        "PMPI_Reduce_scatter_block",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_profiled(names[i]))
            return true;
    return false;
}

static struct coll_ways ways;

static void find_ways(void)
{
    ways = asked_for();
    if (has_profiler_behind())
        ways = (struct coll_ways){false, false, false};
}

struct coll_ways coll_ways(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_ways);
    return ways;
}

unsigned coll_ways_word(void)
{
    const struct coll_ways now = coll_ways();

    return now.messages + 2U * now.nccl + 4U * now.at_once;
}
