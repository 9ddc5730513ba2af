#ifndef JACOBI_REPORT_H
#define JACOBI_REPORT_H

#include "options.h"
#include "run.h"

/* Of n versions, as a table or as CSV, on stdout. */
void report_print(const struct job *job, const struct options *options,
                  const struct result *results, int n);

#endif
