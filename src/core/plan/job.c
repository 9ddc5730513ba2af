/* The ranks of a job on a node; neighbours among ranks that have a GPU. */
#include "core/plan/job.h"

#include <stdlib.h>
#include <string.h>

int job_make(struct job *job, int nranks, struct gpubind_error *err)
{
    memset(job, 0, sizeof *job);
    if (nranks < 1 || nranks > JOB_MAX_LOCAL)
        return error_set(err, "%d ranks on a node are out of range (1 to %d)", nranks,
                         JOB_MAX_LOCAL);
    job->ranks = calloc((size_t)nranks, sizeof *job->ranks);
    if (!job->ranks)
        return error_set(err, "out of memory");
    job->nranks = nranks;
    return 0;
}

void job_clear(struct job *job)
{
    for (int r = 0; r < job->nranks; r++)
        free(job->ranks[r].order);
    free(job->ranks);
    memset(job, 0, sizeof *job);
}

void job_mark_masters(struct job *job, const int *masters, int nmasters)
{
    for (int r = 0; r < job->nranks; r++)
        for (int m = 0; m < nmasters; m++)
            if (job->ranks[r].rank == masters[m])
                job->ranks[r].master = true;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

void job_neighbors(const int *ranks, int nranks, int rank, int *north, int *south)
{
    const int *at = nranks ? bsearch(&rank, ranks, (size_t)nranks, sizeof *ranks, by_number) : NULL;

    *north = at && at > ranks ? at[-1] : -1;
    *south = at && at < ranks + nranks - 1 ? at[1] : -1;
}
