/* How much the grid changes: sums that the kernels make, fetched in a stream of their own
 * while the next step runs, and added up over the ranks. */
#ifndef JACOBI_NORMS_H
#define JACOBI_NORMS_H

#include "versions.h"

struct norms {
    int from;      /* the array that the next step reads */
    int made, got; /* sums so far */
    double last;   /* of all ranks: the squares of the changes; below 0: none yet */
};

/* The number of the sum for the step that comes. */
int norms_next(struct norms *norms);
/* Queues that the sum is fetched, after the step that added to it. */
void norms_fetch(const struct job *job, const struct version *version, int change);
/* The same, and takes the sum of the step before, for which it waits. Collective. */
void norms_collect(struct norms *norms, const struct job *job, const struct version *version,
                   int change);
/* Takes a sum that has been fetched. Collective. */
void norms_take(struct norms *norms, const struct job *job, int change);
/* Takes what is left. Collective. */
void norms_finish(struct norms *norms, const struct job *job);

#endif
