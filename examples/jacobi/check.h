/* Is the grid what one process computes alone? */
#ifndef JACOBI_CHECK_H
#define JACOBI_CHECK_H

#include "options.h"
#include "run.h"

enum { CHECK_MOST = 1 << 24 }; /* cells */

/* What rank 0 computes alone; nothing on the others. */
struct reference {
    char *rows; /* of the grid, from the left edge on */
    double norm;
};

void reference_make(struct reference *reference, const struct job *job,
                    const struct options *options);
void reference_free(struct reference *reference);
/* Collective over job->comm. On rank 0: how many cells differ in a bit, and a norm that
 * differs by more than rounding counts as one. */
long long reference_compare(const struct reference *reference, const struct job *job, double norm);

#endif
