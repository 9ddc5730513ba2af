#include "bench/pt2pt/print.h"

#include <stdio.h>
#include <string.h>

#include "bench/pt2pt/print_table.h"
#include "core/base/json.h"

const char *measure_word(enum measure measure)
{
    static const char *const words[] = {
        [MEASURE_FIRST] = "first",         [MEASURE_LATENCY] = "latency",
        [MEASURE_BANDWIDTH] = "bandwidth", [MEASURE_BIDIRECTIONAL] = "bidirectional",
        [MEASURE_RATE] = "rate",           [MEASURE_RENEWED] = "first-new",
    };

    return words[measure];
}

const char *method_word(const struct report *report, enum method method)
{
    static const char *const words[] = {"gpubind", "mpi"};

    return method == METHOD_COPY ? report->copy_name : words[method];
}

double result_ratio(const struct result *result, enum method method, enum method to)
{
    double mine = result->by[method].us.median, theirs = result->by[to].us.median;

    return mine && theirs ? mine / theirs : 0;
}

static const char *data_word(const struct method_result *by)
{
    return !by->checked ? "unchecked" : by->wrong ? "wrong" : "right";
}

/* ---- comma-separated values; what is behind '#' is for people */

static void csv_begin(const struct report *report, struct text *text)
{
    for (const char *at = report->machine; *at; at += strcspn(at, "\n") + 1)
        text_add(text, "# %.*s\n", (int)strcspn(at, "\n"), at);
    text_add(text, "# start: MPI_Init %.1f ms, then the GPU's context %.1f ms\n",
             report->start_ms, report->gpu_ms);
    text_add(text, "measure,method,buffers,pairs,bytes,window,iterations,us,us_min,us_p99,"
                   "GB_per_s,messages_per_s,x_copy,x_mpi,data\n");
}

static void csv_ratio(double ratio, struct text *text)
{
    if (ratio)
        text_add(text, "%.3f", ratio);
}

static void csv_row(const struct report *report, const struct result *result,
                    enum method method, struct text *text)
{
    const struct method_result *by = &result->by[method];

    text_add(text, "%s,%s,%s,%d,%zu,%d,%d,%.3f,%.3f,%.3f,%.6g,%.6g,",
             measure_word(result->measure), method_word(report, method),
             bench_buffers_word(report->options->buffers), report->npairs, result->nbytes,
             result->window, by->iterations, by->us.median, by->us.min, by->us.p99,
             1e-9 * by->bytes_per_s, by->messages_per_s);
    csv_ratio(result_ratio(result, method, METHOD_COPY), text);
    text_add(text, ",");
    csv_ratio(result_ratio(result, method, METHOD_MPI), text);
    text_add(text, ",%s\n", data_word(by));
}

/* ---- JSON */

static void json_begin(const struct report *report, struct text *text)
{
    struct json json = {.text = text, .spaced = true};

    json_open(&json, NULL, '{');
    json_string(&json, "version", PACKAGE_VERSION);
    json_lines(&json, "machine", report->machine, 2);
    json_newline(&json, 1);
    json_value(&json, "ranks", "%d", report->nranks);
    json_value(&json, "pairs", "%d", report->npairs);
    json_string(&json, "buffers", bench_buffers_word(report->options->buffers));
    json_string(&json, "path", report->options->path);
    json_newline(&json, 1);
    json_value(&json, "start_ms", "%.3f", report->start_ms);
    json_value(&json, "gpu_ms", "%.3f", report->gpu_ms);
    json_open(&json, "results", '[');
}

static void json_ratio(struct json *json, const char *key, double ratio)
{
    if (ratio)
        json_value(json, key, "%.3f", ratio);
    else
        json_string(json, key, NULL);
}

/* One value of the array that json_begin opened. */
static void json_row(const struct report *report, const struct result *result, enum method method,
                     bool first, struct text *text)
{
    const struct method_result *by = &result->by[method];
    struct json json = {.text = text, .spaced = true, .comma = !first};

    json_newline(&json, 2);
    json_open(&json, NULL, '{');
    json_string(&json, "measure", measure_word(result->measure));
    json_string(&json, "method", method_word(report, method));
    json_value(&json, "bytes", "%zu", result->nbytes);
    json_value(&json, "window", "%d", result->window);
    json_value(&json, "iterations", "%d", by->iterations);
    json_value(&json, "us", "%.3f", by->us.median);
    json_value(&json, "us_min", "%.3f", by->us.min);
    json_value(&json, "us_p99", "%.3f", by->us.p99);
    json_value(&json, "GB_per_s", "%.6g", 1e-9 * by->bytes_per_s);
    json_value(&json, "messages_per_s", "%.6g", by->messages_per_s);
    json_ratio(&json, "x_copy", result_ratio(result, method, METHOD_COPY));
    json_ratio(&json, "x_mpi", result_ratio(result, method, METHOD_MPI));
    json_string(&json, "data", data_word(by));
    json_close(&json, '}');
}

/* ---- which of them */

void print_begin(const struct report *report, struct text *text)
{
    if (report->options->csv)
        csv_begin(report, text);
    else if (report->options->json)
        json_begin(report, text);
    else
        table_begin(report, text);
}

void print_result(const struct report *report, const struct result *result,
                  const struct result *before, struct text *text)
{
    bool first = !before;

    if (!report->options->csv && !report->options->json) {
        table_result(report, result, before, text);
        return;
    }
    for (int method = 0; method < METHODS; method++) {
        if (!result->by[method].measured)
            continue;
        if (report->options->csv) {
            csv_row(report, result, (enum method)method, text);
        } else {
            json_row(report, result, (enum method)method, first, text);
            first = false;
        }
    }
}

void print_end(const struct report *report, struct text *text)
{
    if (report->options->json)
        text_add(text, "\n ]}\n");
}
