/* The table of the subcommand coll. */
#ifndef GPUBIND_BENCH_COLL_SCHEMA_H
#define GPUBIND_BENCH_COLL_SCHEMA_H

#include "bench/output/table.h"

extern const struct table_schema coll_schema;

enum coll_column {
    COLL_OPERATION,
    COLL_METHOD,
    COLL_BUFFERS,
    COLL_RANKS,
    COLL_BYTES,
    COLL_BYTES_OF, /* what the bytes are those of */
    COLL_ITERATIONS,
    COLL_US,
    COLL_US_MIN,
    COLL_US_P99,
    COLL_X_NCCL, /* empty where NCCL was not measured */
    COLL_DATA,
    COLL_COLUMNS
};

#endif
