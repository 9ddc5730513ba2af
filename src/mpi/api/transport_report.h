/* What the library would do, as tables for people. */
#ifndef GPUBIND_MPI_API_TRANSPORT_REPORT_H
#define GPUBIND_MPI_API_TRANSPORT_REPORT_H

#include <stdio.h>

/* On rank 0 of the world: the settings, sizes and what happens at them, and the
 * milliseconds that the start took. */
void paths_print_settings(FILE *to, double milliseconds);

#endif
