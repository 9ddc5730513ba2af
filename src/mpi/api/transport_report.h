/* Prints the library's settings, and which path messages between two ranks take. */
#ifndef GPUBIND_MPI_API_TRANSPORT_REPORT_H
#define GPUBIND_MPI_API_TRANSPORT_REPORT_H

#include <stdio.h>

/* On rank 0 of MPI_COMM_WORLD: prints the settings, the chunk sizes, and the milliseconds that the
 * library's start took. */
void paths_print_settings(FILE *to, double milliseconds);

#endif
