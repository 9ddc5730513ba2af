#include "bench/pt2pt/print.h"
#include "bench/pt2pt/pt2pt.h"

static const struct table_column columns[] = {
    [PT2PT_MEASURE] = {COLUMN_WORD, "measure", "measure"},
    [PT2PT_METHOD] = {COLUMN_WORD, "method", "moved by"},
    [PT2PT_BYTES] = {COLUMN_SIZE, "bytes", "message size in bytes"},
    [PT2PT_WINDOW] = {COLUMN_COUNT, "window", "window"},
    [PT2PT_ITERATIONS] = {COLUMN_COUNT, "iterations", "times"},
    [PT2PT_US] = {COLUMN_NUMBER, "us", "us"},
    [PT2PT_US_MIN] = {COLUMN_NUMBER, "us_min", "min us"},
    [PT2PT_US_P99] = {COLUMN_NUMBER, "us_p99", "p99 us"},
    [PT2PT_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [PT2PT_MESSAGES] = {COLUMN_NUMBER, "messages_per_s", "messages/s"},
    [PT2PT_X_COPY] = {COLUMN_NUMBER, "x_copy", "x copy"},
    [PT2PT_DATA] = {COLUMN_WORD, "data", "data"},
};

#define SHOWN                                                                             \
    (1u << PT2PT_METHOD | 1u << PT2PT_BYTES | 1u << PT2PT_US | 1u << PT2PT_US_MIN |       \
     1u << PT2PT_US_P99 | 1u << PT2PT_X_COPY | 1u << PT2PT_DATA)

static const struct table_view views[] = {
    {.title = "latency: half a ping-pong",
     .unit = "us",
     .where = {{PT2PT_MEASURE, "latency"}},
     .chart = VIEW_LINES,
     .columns = SHOWN,
     .value = PT2PT_US,
     .down = PT2PT_METHOD,
     .across = PT2PT_BYTES},
    {.title = "bandwidth: one way",
     .unit = "GB/s",
     .where = {{PT2PT_MEASURE, "bandwidth"}},
     .chart = VIEW_LINES,
     .columns = SHOWN | 1u << PT2PT_WINDOW | 1u << PT2PT_GB_PER_S,
     .value = PT2PT_GB_PER_S,
     .down = PT2PT_METHOD,
     .across = PT2PT_BYTES},
    {.title = "both ways at once, together",
     .unit = "GB/s",
     .where = {{PT2PT_MEASURE, "bidirectional"}},
     .chart = VIEW_LINES,
     .columns = SHOWN | 1u << PT2PT_WINDOW | 1u << PT2PT_GB_PER_S,
     .value = PT2PT_GB_PER_S,
     .down = PT2PT_METHOD,
     .across = PT2PT_BYTES},
    {.title = "first message", .unit = "us", .where = {{PT2PT_MEASURE, "first"}}, .columns = SHOWN},
    {.title = "first messages from new allocations",
     .unit = "us",
     .where = {{PT2PT_MEASURE, "first-new"}},
     .columns = SHOWN},
    {.title = "message rate",
     .where = {{PT2PT_MEASURE, "rate"}},
     .columns = SHOWN | 1u << PT2PT_WINDOW | 1u << PT2PT_MESSAGES},
};

const struct table_schema pt2pt_schema = {"pt2pt", columns, PT2PT_COLUMNS, views,
                                          sizeof views / sizeof views[0]};

static void add_method(const struct report *report, const struct result *result, enum method method,
                       struct table *table)
{
    const struct method_result *by = &result->by[method];
    double ratio = result_ratio(result, method, METHOD_COPY);

    table_add_row(table);
    table_set_word(table, PT2PT_MEASURE, measure_word(result->measure));
    table_set_word(table, PT2PT_METHOD, method_word(report, method));
    table_set_number(table, PT2PT_BYTES, (double)result->nbytes);
    table_set_number(table, PT2PT_WINDOW, result->window);
    table_set_number(table, PT2PT_ITERATIONS, by->iterations);
    table_set_number(table, PT2PT_US, by->us.median);
    table_set_number(table, PT2PT_US_MIN, by->us.min);
    table_set_number(table, PT2PT_US_P99, by->us.p99);
    table_set_number(table, PT2PT_GB_PER_S, 1e-9 * by->bytes_per_s);
    table_set_number(table, PT2PT_MESSAGES, by->messages_per_s);
    if (ratio > 0)
        table_set_number(table, PT2PT_X_COPY, ratio);
    table_set_word(table, PT2PT_DATA, !by->checked ? "unchecked" : by->wrong ? "wrong" : "right");
    table->wrong |= by->wrong;
}

void pt2pt_add(const struct report *report, struct table *table)
{
    text_add(&table->machine, "%s", report->machine);
    for (int i = 0; i < report->nresults; i++)
        for (int method = 0; method < METHODS; method++)
            if (report->results[i].by[method].measured)
                add_method(report, &report->results[i], (enum method)method, table);
}
