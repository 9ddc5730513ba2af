/* A row of a step on the host, cell by cell as the kernels do it: same numbers, bit by bit. */
#ifndef JACOBI_RELAX_H
#define JACOBI_RELAX_H

/* Each points at column 0; the columns beside the first and the last are read too. Return
 * the sum of the squared changes. */
double relax_floats(const float *above, const float *here, const float *below, float *to,
                    int columns);
double relax_doubles(const double *above, const double *here, const double *below, double *to,
                     int columns);

#endif
