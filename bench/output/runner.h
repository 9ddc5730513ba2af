/* What subcommands that make one table have in common: MPI's begin and end, the output,
 * and the exit status. */
#ifndef GPUBIND_BENCH_OUTPUT_RUNNER_H
#define GPUBIND_BENCH_OUTPUT_RUNNER_H

#include "bench/lib/options.h"
#include "bench/lib/program.h"
#include "bench/output/table.h"
#include "core/base/error.h"

/* Fills the table, which means something on rank 0 alone. Returns 0, -1 or BENCH_CANNOT.
 * Collective over MPI_COMM_WORLD, with the same answer and the same error on all ranks. */
typedef int benchmark_fill(const struct bench_options *options, struct table *table,
                           struct gpubind_error *err);

/* What is measured, by its own subcommand or in a report. */
struct benchmark {
    const struct table_schema *schema;
    benchmark_fill *fill;
    bool library; /* fill finds the library started, and leaves it so */
};

/* For MPI that was started past the library, which starts once in a process. Collective. */
int bench_library_start(struct gpubind_error *err);
void bench_library_end(void);

/* Rank 0 alone measures, which is noted. Its answer is that of all. */
int benchmark_fill_on_rank0(benchmark_fill *fill, const struct bench_options *options,
                            struct table *table, struct gpubind_error *err);

/* Returns the exit status. plain: MPI is started past the library. */
int benchmark_run(const struct bench_options *options, const struct benchmark *benchmark,
                  bool plain);

#endif
