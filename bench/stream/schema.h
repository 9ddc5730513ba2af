/* The table of the subcommand stream. */
#ifndef GPUBIND_BENCH_STREAM_SCHEMA_H
#define GPUBIND_BENCH_STREAM_SCHEMA_H

#include "bench/output/table.h"

extern const struct table_schema stream_schema;

enum stream_column {
    STREAM_COLUMN_MEASURE,
    STREAM_COLUMN_METHOD,
    STREAM_COLUMN_BYTES,
    STREAM_COLUMN_WINDOW,
    STREAM_COLUMN_QUEUED,
    STREAM_COLUMN_ITERATIONS,
    STREAM_COLUMN_US,
    STREAM_COLUMN_US_MIN,
    STREAM_COLUMN_US_P99,
    STREAM_COLUMN_GB_PER_S, /* both directions together; empty for ping-pongs */
    STREAM_COLUMN_X_COPY,   /* empty where there is no bare copy */
    STREAM_COLUMN_X_NCCL,   /* empty where NCCL was not measured */
    STREAM_COLUMN_DATA,
    STREAM_COLUMNS
};

#endif
