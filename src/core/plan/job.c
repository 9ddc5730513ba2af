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
