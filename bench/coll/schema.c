#include "bench/coll/schema.h"

static const struct table_column columns[] = {
    [COLL_OPERATION] = {COLUMN_WORD, "operation", "operation"},
    [COLL_METHOD] = {COLUMN_WORD, "method", "by"},
    [COLL_BUFFERS] = {COLUMN_WORD, "buffers", "buffers"},
    [COLL_RANKS] = {COLUMN_COUNT, "ranks", "ranks"},
    [COLL_BYTES] = {COLUMN_SIZE, "bytes", "message size in bytes"},
    [COLL_BYTES_OF] = {COLUMN_WORD, "bytes_of", "bytes of"},
    [COLL_ITERATIONS] = {COLUMN_COUNT, "iterations", "times"},
    [COLL_US] = {COLUMN_FIXED, "us", "us"},
    [COLL_US_MIN] = {COLUMN_FIXED, "us_min", "min us"},
    [COLL_US_P99] = {COLUMN_FIXED, "us_p99", "p99 us"},
    [COLL_X_NCCL] = {COLUMN_FIXED, "x_nccl", "x nccl"},
    [COLL_DATA] = {COLUMN_WORD, "data", "data"},
};

/* Columns with the same word for all rows of a run or a view are left out. */
#define WITHOUT_NCCL                                                                \
    (1u << COLL_METHOD | 1u << COLL_BYTES | 1u << COLL_ITERATIONS | 1u << COLL_US | \
     1u << COLL_US_MIN | 1u << COLL_US_P99 | 1u << COLL_DATA)

#define VIEW(operation, bytes_of, with_nccl, without_nccl, shown)                           \
    {                                                                                       \
        .title = operation ", size is that of " bytes_of, .unit = "slowest rank, us",       \
        .where = {{COLL_OPERATION, operation}}, .filled = with_nccl, .empty = without_nccl, \
        .columns = shown,                                                                   \
    }
/* Two views of an operation, of which a run fills one: beside NCCL, and without it. */
#define VIEWS(operation, bytes_of)                                                     \
    VIEW(operation, bytes_of, 1u << COLL_X_NCCL, 0, WITHOUT_NCCL | 1u << COLL_X_NCCL), \
        VIEW(operation, bytes_of, 0, 1u << COLL_X_NCCL, WITHOUT_NCCL)
#define OF_BUFFER "the whole buffer"
#define OF_BLOCK "a block, as one rank has for another"

/* In the order of the measurements: the rows are printed one by one. */
static const struct table_view views[] = {
    VIEWS("allreduce", OF_BUFFER),
    VIEWS("bcast", OF_BUFFER),
    VIEWS("alltoall", OF_BLOCK),
    VIEWS("allgather", OF_BLOCK),
    VIEWS("reduce_scatter_block", OF_BLOCK),
    VIEWS("reduce", OF_BUFFER),
    VIEWS("gather", OF_BLOCK),
    VIEWS("scatter", OF_BLOCK),
    VIEWS("alltoallv", OF_BLOCK),
    VIEWS("neighbor_alltoall", OF_BLOCK),
    VIEWS("iallreduce", OF_BUFFER),
    VIEWS("ibcast", OF_BUFFER),
    VIEWS("ialltoall", OF_BLOCK),
    VIEWS("iallgather", OF_BLOCK),
};

const struct table_schema coll_schema = {
    "coll", columns, COLL_COLUMNS, views, sizeof views / sizeof views[0], 0};
