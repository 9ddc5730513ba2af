#include "bench/stream/schema.h"

static const struct table_column columns[STREAM_COLUMNS] = {
    [STREAM_COLUMN_MEASURE] = {COLUMN_WORD, "measure", "measure"},
    [STREAM_COLUMN_METHOD] = {COLUMN_WORD, "method", "by"},
    [STREAM_COLUMN_BYTES] = {COLUMN_SIZE, "bytes", "message size in bytes"},
    [STREAM_COLUMN_WINDOW] = {COLUMN_COUNT, "window", "window"},
    [STREAM_COLUMN_QUEUED] = {COLUMN_COUNT, "queued", "queued"},
    [STREAM_COLUMN_ITERATIONS] = {COLUMN_COUNT, "iterations", "times"},
    [STREAM_COLUMN_US] = {COLUMN_FIXED, "us", "us"},
    [STREAM_COLUMN_US_MIN] = {COLUMN_FIXED, "us_min", "min us"},
    [STREAM_COLUMN_US_P99] = {COLUMN_FIXED, "us_p99", "p99 us"},
    [STREAM_COLUMN_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [STREAM_COLUMN_X_COPY] = {COLUMN_FIXED, "x_copy", "x copy"},
    [STREAM_COLUMN_X_NCCL] = {COLUMN_FIXED, "x_nccl", "x nccl"},
    [STREAM_COLUMN_DATA] = {COLUMN_WORD, "data", "data"},
};

#define TIMES                                                                                  \
    (1u << STREAM_COLUMN_METHOD | 1u << STREAM_COLUMN_BYTES | 1u << STREAM_COLUMN_ITERATIONS | \
     1u << STREAM_COLUMN_US | 1u << STREAM_COLUMN_US_MIN | 1u << STREAM_COLUMN_US_P99 |        \
     1u << STREAM_COLUMN_X_COPY | 1u << STREAM_COLUMN_DATA)
#define SPEED (1u << STREAM_COLUMN_GB_PER_S)
#define WINDOW (1u << STREAM_COLUMN_WINDOW)
#define NCCL (1u << STREAM_COLUMN_X_NCCL)

/* Two views of a measure, of which a run fills one: beside NCCL, and without it. */
#define VIEW(measure, title_text, unit_text, has_nccl, has_none, shown)                      \
    {                                                                                        \
        .title = title_text, .unit = unit_text, .where = {{STREAM_COLUMN_MEASURE, measure}}, \
        .filled = has_nccl, .empty = has_none, .columns = TIMES | (shown),                   \
    }
#define VIEWS(measure, title, unit, shown) \
    VIEW(measure, title, unit, NCCL, 0, NCCL | (shown)), VIEW(measure, title, unit, 0, NCCL, shown)

/* In the order of the measurements: the rows are printed one by one. */
static const struct table_view views[] = {
    VIEWS("latency", "half a ping-pong, 50 queued ahead", "us", 0),
    VIEWS("waited", "half a ping-pong, the host waits for the stream after each", "us", 0),
    VIEWS("exchange", "a message each way at once, 20 queued ahead", "slower rank, us", SPEED),
    VIEWS("window", "a window of messages one way and a reply", "us a window", SPEED | WINDOW),
};

const struct table_schema stream_schema = {
    "stream", columns, STREAM_COLUMNS, views, sizeof views / sizeof views[0], 0};
