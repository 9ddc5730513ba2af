/* The table of pt2pt. */
#include "bench/pt2pt/pt2pt.h"

static const struct table_column columns[] = {
    [PT2PT_MEASURE] = {COLUMN_WORD, "measure", "measure"},
    [PT2PT_METHOD] = {COLUMN_WORD, "method", "moved by"},
    [PT2PT_BUFFERS] = {COLUMN_WORD, "buffers", "buffers"},
    [PT2PT_PAIRS] = {COLUMN_COUNT, "pairs", "pairs"},
    [PT2PT_BYTES] = {COLUMN_SIZE, "bytes", "message size in bytes"},
    [PT2PT_WINDOW] = {COLUMN_COUNT, "window", "window"},
    [PT2PT_ITERATIONS] = {COLUMN_COUNT, "iterations", "times"},
    [PT2PT_US] = {COLUMN_FIXED, "us", "us"},
    [PT2PT_US_MIN] = {COLUMN_FIXED, "us_min", "min us"},
    [PT2PT_US_P99] = {COLUMN_FIXED, "us_p99", "p99 us"},
    [PT2PT_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [PT2PT_MESSAGES] = {COLUMN_NUMBER, "messages_per_s", "messages/s"},
    [PT2PT_X_COPY] = {COLUMN_FIXED, "x_copy", "x copy"},
    [PT2PT_X_MPI] = {COLUMN_FIXED, "x_mpi", "x mpi"},
    [PT2PT_DATA] = {COLUMN_WORD, "data", "data"},
};

/* Columns with the same word for all rows of a run or a view are left out. */
#define SHOWN                                                                                 \
    (((1u << PT2PT_COLUMNS) - 1) &                                                            \
     ~(1u << PT2PT_MEASURE | 1u << PT2PT_BUFFERS | 1u << PT2PT_PAIRS | 1u << PT2PT_GB_PER_S | \
       1u << PT2PT_MESSAGES))

/* In the order of the measurements: the rows are printed one by one. */
static const struct table_view views[] = {
    {.title = "first message", .unit = "us", .where = {{PT2PT_MEASURE, "first"}}, .columns = SHOWN},
    {.title = "first messages from new allocations",
     .unit = "us",
     .where = {{PT2PT_MEASURE, "first-new"}},
     .columns = SHOWN},
    {.title = "latency: half a ping-pong",
     .unit = "us",
     .where = {{PT2PT_MEASURE, "latency"}},
     .columns = SHOWN},
    {.title = "bandwidth: one way",
     .unit = "GB/s",
     .where = {{PT2PT_MEASURE, "bandwidth"}},
     .columns = SHOWN | 1u << PT2PT_GB_PER_S},
    {.title = "both ways at once, together",
     .unit = "GB/s",
     .where = {{PT2PT_MEASURE, "bidirectional"}},
     .columns = SHOWN | 1u << PT2PT_GB_PER_S},
    {.title = "message rate",
     .where = {{PT2PT_MEASURE, "rate"}},
     .columns = SHOWN | 1u << PT2PT_MESSAGES},
};

const struct table_schema pt2pt_schema = {"pt2pt",
                                          columns,
                                          PT2PT_COLUMNS,
                                          views,
                                          sizeof views / sizeof views[0],
                                          1u << PT2PT_BUFFERS | 1u << PT2PT_PAIRS};
