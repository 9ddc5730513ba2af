/* What subcommands that make one sheet have in common: MPI's begin and end, the output,
 * and the exit status. */
#ifndef GPUBIND_BIN_BENCH_RUN_H
#define GPUBIND_BIN_BENCH_RUN_H

#include "bin/bench_options.h"
#include "bin/bench_sheet.h"
#include "core/error.h"

/* Fills the sheet, which means something on rank 0 alone. Collective over
 * MPI_COMM_WORLD, with the same answer and the same error on all ranks. */
typedef int bench_measure(const struct bench_options *options, struct sheet *sheet,
                          struct gpubind_error *err);

/* Rank 0 alone measures, which is noted. Its answer is that of all. */
int bench_measure_first(bench_measure *measure, const struct bench_options *options,
                        struct sheet *sheet, struct gpubind_error *err);

/* Returns the exit status. MPI is started past the library. */
int bench_run(const struct bench_options *options, const struct sheet_form *form,
              bench_measure *measure);

#endif
