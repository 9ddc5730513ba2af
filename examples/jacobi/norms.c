#include "norms.h"

int norms_next(struct norms *norms)
{
    return norms->made++ % CHANGES;
}

void norms_fetch(const struct job *job, const struct version *version, int change)
{
    for (int stream = 0; stream < STREAMS; stream++)
        if (version->streams >> stream & 1)
            gpu_after(job->stream[CHANGE], job->computed[stream]);
    job->compute->collect(change, job->stream[CHANGE]);
    gpu_record(job->collected[change], job->stream[CHANGE]);
}

void norms_take(struct norms *norms, const struct job *job, int change)
{
    double mine = job->compute->changed(change);

    MPI_Allreduce(&mine, &norms->last, 1, MPI_DOUBLE, MPI_SUM, job->comm);
}

static void take_oldest(struct norms *norms, const struct job *job)
{
    const int change = norms->got++ % CHANGES;

    wait_for_event(job->collected[change]);
    norms_take(norms, job, change);
}

void norms_collect(struct norms *norms, const struct job *job, const struct version *version,
                   int change)
{
    norms_fetch(job, version, change);
    if (norms->made - norms->got > 1)
        take_oldest(norms, job);
}

void norms_finish(struct norms *norms, const struct job *job)
{
    while (norms->got < norms->made)
        take_oldest(norms, job);
}
