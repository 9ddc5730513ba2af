#include "progress.h"

#include <stdio.h>

enum { STRETCH = 32 }; /* steps; at most two stretches are queued */

void progress_start(struct progress *progress, const struct job *job, const struct version *version,
                    const struct options *options)
{
    *progress = (struct progress){
        .name = version->name,
        .how = job->exchange ? "" : " without messages",
        .quiet = options->quiet || job->rank > 0,
        .steps = options->steps,
        .said = MPI_Wtime(),
        .done = {gpu_event_make(false), gpu_event_make(false)},
    };
}

void progress_step(struct progress *progress, const struct job *job, int step)
{
    gpu_event *done = progress->done;
    double now;

    if (step % STRETCH)
        return;
    gpu_record(done[step / STRETCH % 2], job->stream[INNER]);
    wait_for_event(done[(step / STRETCH + 1) % 2]);
    now = MPI_Wtime();
    if (progress->quiet || now < progress->said + 1)
        return;
    progress->said = now;
    fprintf(stderr, "jacobi: %s%s: step %d of %d\n", progress->name, progress->how,
            step > STRETCH ? step - STRETCH : 0, progress->steps);
}

void progress_end(struct progress *progress)
{
    gpu_event_free(progress->done[0]);
    gpu_event_free(progress->done[1]);
}
