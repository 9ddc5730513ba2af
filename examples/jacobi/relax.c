#include "relax.h"

double relax_floats(const float *above, const float *here, const float *below, float *to,
                    int columns)
{
    double squares = 0;

    for (int i = 0; i < columns; i++) {
        to[i] = 0.25F * ((above[i] + below[i]) + (here[i - 1] + here[i + 1]));
        squares += (double)(to[i] - here[i]) * (double)(to[i] - here[i]);
    }
    return squares;
}

double relax_doubles(const double *above, const double *here, const double *below, double *to,
                     int columns)
{
    double squares = 0;

    for (int i = 0; i < columns; i++) {
        to[i] = 0.25 * ((above[i] + below[i]) + (here[i - 1] + here[i + 1]));
        squares += (to[i] - here[i]) * (to[i] - here[i]);
    }
    return squares;
}
