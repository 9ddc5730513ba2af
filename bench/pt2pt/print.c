#include "bench/pt2pt/print.h"

#include <stdio.h>
#include <string.h>

#include "bench/pt2pt/print_table.h"

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

static void add_ratio(struct text *text, double ratio, const char *none)
{
    if (ratio)
        text_add(text, "%.3f", ratio);
    else
        text_add(text, "%s", none);
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
    add_ratio(text, result_ratio(result, method, METHOD_COPY), "");
    text_add(text, ",");
    add_ratio(text, result_ratio(result, method, METHOD_MPI), "");
    text_add(text, ",%s\n", data_word(by));
}

/* ---- JSON */

static void json_begin(const struct report *report, struct text *text)
{
    text_add(text, "{\"version\": \"%s\", \"machine\": [", PACKAGE_VERSION);
    for (const char *at = report->machine; *at; at += strcspn(at, "\n") + 1) {
        char line[256];

        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        text_add(text, "%s", at == report->machine ? "\n  " : ",\n  ");
        text_add_json(text, line);
    }
    text_add(text, "],\n \"ranks\": %d, \"pairs\": %d, \"buffers\": \"%s\", \"path\": ",
             report->nranks, report->npairs, bench_buffers_word(report->options->buffers));
    text_add_json(text, report->options->path);
    text_add(text, ",\n \"start_ms\": %.3f, \"gpu_ms\": %.3f, \"results\": [", report->start_ms,
             report->gpu_ms);
}

static void json_row(const struct report *report, const struct result *result,
                     enum method method, struct text *text)
{
    const struct method_result *by = &result->by[method];

    text_add(text, "  {\"measure\": \"%s\", \"method\": \"%s\", \"bytes\": %zu, ",
             measure_word(result->measure), method_word(report, method), result->nbytes);
    text_add(text, "\"window\": %d, \"iterations\": %d, \"us\": %.3f, \"us_min\": %.3f, ",
             result->window, by->iterations, by->us.median, by->us.min);
    text_add(text, "\"us_p99\": %.3f, \"GB_per_s\": %.6g, \"messages_per_s\": %.6g, ",
             by->us.p99, 1e-9 * by->bytes_per_s, by->messages_per_s);
    text_add(text, "\"x_copy\": ");
    add_ratio(text, result_ratio(result, method, METHOD_COPY), "null");
    text_add(text, ", \"x_mpi\": ");
    add_ratio(text, result_ratio(result, method, METHOD_MPI), "null");
    text_add(text, ", \"data\": \"%s\"}", data_word(by));
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
    const char *between = before ? ",\n" : "\n";

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
            text_add(text, "%s", between);
            json_row(report, result, (enum method)method, text);
            between = ",\n";
        }
    }
}

void print_end(const struct report *report, struct text *text)
{
    if (report->options->json)
        text_add(text, "\n ]}\n");
}
