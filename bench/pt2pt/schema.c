#include "bench/pt2pt/print.h"
#include "bench/pt2pt/pt2pt.h"

static const struct sheet_column columns[] = {
    [PT2PT_MEASURE] = {SHEET_WORD, "measure", "measure"},
    [PT2PT_METHOD] = {SHEET_WORD, "method", "moved by"},
    [PT2PT_BYTES] = {SHEET_SIZE, "bytes", "message size in bytes"},
    [PT2PT_WINDOW] = {SHEET_COUNT, "window", "window"},
    [PT2PT_ITERATIONS] = {SHEET_COUNT, "iterations", "times"},
    [PT2PT_US] = {SHEET_NUMBER, "us", "us"},
    [PT2PT_US_MIN] = {SHEET_NUMBER, "us_min", "min us"},
    [PT2PT_US_P99] = {SHEET_NUMBER, "us_p99", "p99 us"},
    [PT2PT_GB_PER_S] = {SHEET_NUMBER, "GB_per_s", "GB/s"},
    [PT2PT_MESSAGES] = {SHEET_NUMBER, "messages_per_s", "messages/s"},
    [PT2PT_X_COPY] = {SHEET_NUMBER, "x_copy", "x copy"},
    [PT2PT_DATA] = {SHEET_WORD, "data", "data"},
};

#define SHOWN                                                                             \
    (1u << PT2PT_METHOD | 1u << PT2PT_BYTES | 1u << PT2PT_US | 1u << PT2PT_US_MIN |       \
     1u << PT2PT_US_P99 | 1u << PT2PT_X_COPY | 1u << PT2PT_DATA)

static const struct sheet_part parts[] = {
    {.title = "latency: half a ping-pong",
     .unit = "us",
     .where = {{PT2PT_MEASURE, "latency"}},
     .picture = SHEET_LINES,
     .columns = SHOWN,
     .value = PT2PT_US,
     .down = PT2PT_METHOD,
     .across = PT2PT_BYTES},
    {.title = "bandwidth: one way",
     .unit = "GB/s",
     .where = {{PT2PT_MEASURE, "bandwidth"}},
     .picture = SHEET_LINES,
     .columns = SHOWN | 1u << PT2PT_WINDOW | 1u << PT2PT_GB_PER_S,
     .value = PT2PT_GB_PER_S,
     .down = PT2PT_METHOD,
     .across = PT2PT_BYTES},
    {.title = "both ways at once, together",
     .unit = "GB/s",
     .where = {{PT2PT_MEASURE, "bidirectional"}},
     .picture = SHEET_LINES,
     .columns = SHOWN | 1u << PT2PT_WINDOW | 1u << PT2PT_GB_PER_S,
     .value = PT2PT_GB_PER_S,
     .down = PT2PT_METHOD,
     .across = PT2PT_BYTES},
    {.title = "first message",
     .unit = "us",
     .where = {{PT2PT_MEASURE, "first"}},
     .columns = SHOWN},
    {.title = "first messages from new allocations",
     .unit = "us",
     .where = {{PT2PT_MEASURE, "first-new"}},
     .columns = SHOWN},
    {.title = "message rate",
     .where = {{PT2PT_MEASURE, "rate"}},
     .columns = SHOWN | 1u << PT2PT_WINDOW | 1u << PT2PT_MESSAGES},
};

const struct sheet_form pt2pt_form = {"pt2pt", columns, PT2PT_COLUMNS, parts,
                                      sizeof parts / sizeof parts[0]};

static void add_method(const struct report *report, const struct result *result,
                       enum method method, struct sheet *sheet)
{
    const struct method_result *by = &result->by[method];
    double ratio = result_ratio(result, method, METHOD_COPY);

    sheet_row(sheet);
    sheet_word(sheet, PT2PT_MEASURE, measure_word(result->measure));
    sheet_word(sheet, PT2PT_METHOD, method_word(report, method));
    sheet_number(sheet, PT2PT_BYTES, (double)result->nbytes);
    sheet_number(sheet, PT2PT_WINDOW, result->window);
    sheet_number(sheet, PT2PT_ITERATIONS, by->iterations);
    sheet_number(sheet, PT2PT_US, by->us.median);
    sheet_number(sheet, PT2PT_US_MIN, by->us.min);
    sheet_number(sheet, PT2PT_US_P99, by->us.p99);
    sheet_number(sheet, PT2PT_GB_PER_S, 1e-9 * by->bytes_per_s);
    sheet_number(sheet, PT2PT_MESSAGES, by->messages_per_s);
    if (ratio > 0)
        sheet_number(sheet, PT2PT_X_COPY, ratio);
    sheet_word(sheet, PT2PT_DATA, !by->checked ? "unchecked" : by->wrong ? "wrong" : "right");
    sheet->wrong |= by->wrong;
}

void pt2pt_add(const struct report *report, struct sheet *sheet)
{
    text_add(&sheet->machine, "%s", report->machine);
    for (int i = 0; i < report->nresults; i++)
        for (int method = 0; method < METHODS; method++)
            if (report->results[i].by[method].measured)
                add_method(report, &report->results[i], (enum method)method, sheet);
}
