#include "run.h"

#include <math.h>

#include "graph.h"
#include "norms.h"
#include "progress.h"

enum { TIMELINE_BEFORE = 6, TIMELINE_STEPS = 4 };

static void wait_for_all(const struct job *job)
{
    for (int i = 0; i < STREAMS; i++)
        wait_for_stream(job->stream[i]);
}

/* Returns s, of this rank. */
static double do_steps(struct job *job, const struct version *version, int steps, int norm_every,
                       struct norms *norms, struct progress *progress)
{
    double begin;

    wait_for_all(job);
    MPI_Barrier(job->comm);
    begin = MPI_Wtime();
    for (int i = 0; i < steps; i++) {
        struct step step = {norms->from, -1};

        norms->from = 1 - norms->from;
        if (norm_every && (i + 1) % norm_every == 0)
            step.change = norms_next(norms);
        version->step(job, step);
        if (step.change >= 0)
            norms_collect(norms, job, version, step.change);
        progress_step(progress, job, i + 1);
    }
    norms_finish(norms, job);
    wait_for_all(job);
    return MPI_Wtime() - begin;
}

/* Returns us a step, of the slowest rank. */
static double time_steps(struct job *job, const struct version *version,
                         const struct options *options, struct norms *norms)
{
    struct progress progress;
    double mine, slowest;

    progress_start(&progress, job, version, options);
    do_steps(job, version, options->warmup, 0, norms, &progress);
    if (options->graph)
        mine = graph_steps(job, version, options->steps, options->norm_every, norms);
    else
        mine = do_steps(job, version, options->steps, options->norm_every, norms, &progress);
    progress_end(&progress);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, job->comm);
    return 1e6 * slowest / options->steps;
}

void run_version(struct job *job, const struct version *version, const struct options *options,
                 struct result *result)
{
    struct norms norms = {.last = -1}, ignored = {.last = -1};

    *result = (struct result){.version = version, .us_alone = -1, .wrong = -1};
    if (version->start)
        version->start(job);
    if (!options->no_exchange) {
        job->exchange = false;
        result->us_alone = time_steps(job, version, options, &ignored);
    }
    job->exchange = !options->no_exchange;
    strip_reset(&job->strip);
    result->us = time_steps(job, version, options, &norms);
    result->norm = norms.last < 0 ? -1 : sqrt(norms.last);
    job->array = norms.from;
    if (version->end)
        version->end(job);
}

void run_timeline(struct job *job, const struct version *version, FILE *file)
{
    struct timeline *timeline = &job->timeline;

    if (version->start)
        version->start(job);
    job->exchange = true;
    wait_for_all(job);
    timeline_start(timeline, job->stream[INNER], job->comm);
    for (int i = 0; i < TIMELINE_BEFORE + TIMELINE_STEPS; i++) {
        timeline->step = i - TIMELINE_BEFORE;
        timeline->recording = timeline->step >= 0;
        version->step(job, (struct step){i % 2, -1});
    }
    timeline->recording = 0;
    wait_for_all(job);
    timeline_write(timeline, version->name, job->comm, file);
    if (version->end)
        version->end(job);
}
