/* Two steps captured once, and replayed. */
#ifndef JACOBI_GRAPH_H
#define JACOBI_GRAPH_H

#include "norms.h"

/* Returns s, of this rank. At least one step has been done before. */
double graph_steps(struct job *job, const struct version *version, int steps, int norm_every,
                   struct norms *norms);

#endif
