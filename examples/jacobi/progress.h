/* How far a long run is, and the bound on how far the host is ahead of the GPU. */
#ifndef JACOBI_PROGRESS_H
#define JACOBI_PROGRESS_H

#include "options.h"
#include "versions.h"

struct progress {
    const char *name;
    const char *how;
    bool quiet;
    int steps;
    double said; /* s */
    gpu_event done[2];
};

void progress_start(struct progress *progress, const struct job *job, const struct version *version,
                    const struct options *options);
/* After the step was queued: waits for older ones, and says each second how far it is. */
void progress_step(struct progress *progress, const struct job *job, int step);
void progress_end(struct progress *progress);

#endif
