/* The subcommand pt2pt, on its own and as a part of a report. */
#ifndef GPUBIND_BENCH_PT2PT_PT2PT_H
#define GPUBIND_BENCH_PT2PT_PT2PT_H

#include "bench/output/runner.h"

int pt2pt_main(const struct bench_options *options);
extern const struct benchmark pt2pt_benchmark;

extern const struct table_schema pt2pt_schema;
enum pt2pt_column {
    PT2PT_MEASURE,
    PT2PT_METHOD,
    PT2PT_BUFFERS,
    PT2PT_PAIRS,
    PT2PT_BYTES,
    PT2PT_WINDOW,
    PT2PT_ITERATIONS,
    PT2PT_US,
    PT2PT_US_MIN,
    PT2PT_US_P99,
    PT2PT_GB_PER_S,
    PT2PT_MESSAGES,
    PT2PT_X_COPY,
    PT2PT_X_MPI,
    PT2PT_DATA,
    PT2PT_COLUMNS
};

#endif
