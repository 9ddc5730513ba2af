/* Runs a subcommand that fills one table: start and end of MPI, output, exit status. */
#ifndef GPUBIND_BENCH_OUTPUT_RUNNER_H
#define GPUBIND_BENCH_OUTPUT_RUNNER_H

#include "bench/lib/options.h"
#include "bench/lib/program.h"
#include "bench/output/table.h"
#include "core/base/error.h"

/* Fills the table, which is valid on rank 0 alone. Returns 0, -1 or BENCH_CANNOT. Collective over
 * MPI_COMM_WORLD; the status and err are the same on all ranks. */
typedef int benchmark_fill(const struct bench_options *options, struct table *table,
                           struct gpubind_error *err);

/* A benchmark, run by its own subcommand or as a section of a report. */
struct benchmark {
    const struct table_schema *schema;
    benchmark_fill *fill;
    bool library; /* the caller starts the library before fill and ends it afterwards */
};

/* Start and end of the library after PMPI_Init. It can start only once in a process. Collective. */
int bench_library_start(struct gpubind_error *err);
void bench_library_end(void);

/* Runs fill on rank 0 alone, adds a note on that, and returns its status on all ranks. */
int benchmark_fill_on_rank0(benchmark_fill *fill, const struct bench_options *options,
                            struct table *table, struct gpubind_error *err);

/* Returns the exit status. plain: MPI is initialised by PMPI_Init, past the library. */
int benchmark_run(const struct bench_options *options, const struct benchmark *benchmark,
                  bool plain);

#endif
