/* The table that people read. */
#include <stdio.h>

#include "bench/output/table.h"
#include "bench/pt2pt/print.h"
#include "bench/pt2pt/print_table.h"

/* The other methods, in columns of their own behind the first. */
static enum method main_method(const struct report *report)
{
    return report->options->api == API_MPI && !report->options->compare ? METHOD_MPI
                                                                       : METHOD_GPUBIND;
}

static const char *title(const struct result *result)
{
    switch (result->measure) {
    case MEASURE_LATENCY:
        return "latency: half a ping-pong of blocking calls, us";
    case MEASURE_BANDWIDTH:
        return "bandwidth: a window of nonblocking messages and a reply, GB/s";
    case MEASURE_BIDIRECTIONAL:
        return "bidirectional bandwidth: a window either way at once, GB/s";
    case MEASURE_RATE:
        return "message rate: a window of small messages and a reply, million a second";
    default:
        return "first messages: one message and a reply, us";
    }
}

/* What a method's column shows. */
static double value_of(const struct result *result, enum method method)
{
    const struct method_result *by = &result->by[method];

    if (result->measure == MEASURE_RATE)
        return 1e-6 * by->messages_per_s;
    if (result->measure == MEASURE_BANDWIDTH || result->measure == MEASURE_BIDIRECTIONAL)
        return 1e-9 * by->bytes_per_s;
    return by->us.median;
}

static bool shows(const struct report *report, const struct result *result, enum method method)
{
    const struct bench_options *options = report->options;

    if (method == METHOD_COPY)
        return report->copy_name && result->measure != MEASURE_FIRST &&
               result->measure != MEASURE_RENEWED;
    return method == METHOD_MPI ? options->compare : false;
}

/* Latencies are their own microseconds. */
static bool has_times(const struct result *result)
{
    return result->measure == MEASURE_BANDWIDTH || result->measure == MEASURE_BIDIRECTIONAL ||
           result->measure == MEASURE_RATE;
}

static void add_titles(const struct report *report, const struct result *result,
                       struct text *text)
{
    char ratio[32];

    text_add(text, "\n%s\n%8s %6s %10s", title(result), "size", "window",
             method_word(report, main_method(report)));
    if (has_times(result))
        text_add(text, " %10s", "us");
    text_add(text, " %10s %10s", "min us", "p99 us");
    for (int method = 0; method < METHODS; method++)
        if (shows(report, result, (enum method)method)) {
            snprintf(ratio, sizeof ratio, "x %s", method_word(report, (enum method)method));
            text_add(text, " %10s %10s", method_word(report, (enum method)method), ratio);
        }
    text_add(text, " %7s  data\n", "times");
}

static bool same_table(const struct result *result, const struct result *before)
{
    return before && (before->measure == result->measure ||
                      (before->measure == MEASURE_FIRST && result->measure == MEASURE_RENEWED));
}

static void add_number(struct text *text, double value)
{
    int digits = value < 0.1 ? 6 : value < 10 ? 3 : value < 1000 ? 2 : value < 100000 ? 1 : 0;

    if (value)
        text_add(text, " %10.*f", digits, value);
    else
        text_add(text, " %10s", "-");
}

void table_result(const struct report *report, const struct result *result,
                  const struct result *before, struct text *text)
{
    enum method shown = main_method(report);
    const struct method_result *by = &result->by[shown];
    struct text size = {0};
    bool wrong = false;

    if (!same_table(result, before))
        add_titles(report, result, text);
    text_add_size(&size, result->nbytes);
    text_add(text, "%8s %6d", size.bytes ? size.bytes : "", result->window);
    text_clear(&size);
    add_number(text, value_of(result, shown));
    if (has_times(result))
        add_number(text, by->us.median);
    add_number(text, by->us.min);
    add_number(text, by->us.p99);
    for (int method = 0; method < METHODS; method++) {
        wrong |= result->by[method].wrong;
        if (!shows(report, result, (enum method)method))
            continue;
        add_number(text, value_of(result, (enum method)method));
        add_number(text, result_ratio(result, shown, (enum method)method));
    }
    text_add(text, " %7d  %s%s\n", by->iterations, wrong ? "WRONG" : "right",
             result->measure == MEASURE_RENEWED ? ", from new allocations" : "");
}

void table_begin(const struct report *report, struct text *text)
{
    text_add(text, "%s", report->machine);
    text_add(text, "start: MPI_Init %.1f ms", report->start_ms);
    if (report->gpu_ms)
        text_add(text, ", then the GPU's context %.1f ms", report->gpu_ms);
    text_add(text, "\n");
    if (report->copy_name || report->options->compare)
        text_add(text, "us: the median; x NAME: how many times as long as NAME took\n");
    else
        text_add(text, "us: the median\n");
}
