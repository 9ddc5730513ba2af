/* Steps of one version, timed. */
#ifndef JACOBI_RUN_H
#define JACOBI_RUN_H

#include "options.h"
#include "versions.h"

struct result {
    const struct version *version;
    double us;       /* a step, of the slowest rank */
    double us_alone; /* the same without messages; below 0: not measured */
    double norm;     /* of the last change of the grid; below 0: none was asked for */
    long long wrong; /* cells; below 0: not checked */
};

/* Collective over job->comm. The grid is as it was at first, before and after messages
 * were left out. */
void run_version(struct job *job, const struct version *version, const struct options *options,
                 struct result *result);
/* Some steps, of which the last ones are noted and written by rank 0. */
void run_timeline(struct job *job, const struct version *version, FILE *file);

#endif
