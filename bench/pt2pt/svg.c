/* The picture of pt2pt: latency and bandwidth by size. */
#include <stdlib.h>
#include <string.h>

#include "bench/output/svg.h"
#include "bench/pt2pt/print.h"

#define TOP 124
#define LEFT 70
#define RIGHT 34
#define MAX_LINES (METHODS * MEASURES)

static double value_of(const struct result *result, enum method method)
{
    const struct method_result *by = &result->by[method];

    return result->measure == MEASURE_LATENCY ? by->us.median : 1e-9 * by->bytes_per_s;
}

static void fill_line(const struct report *report, enum measure measure, enum method method,
                      struct plot_line *line)
{
    line->name = method_word(report, method);
    line->colour = (int)method;
    line->dashed = measure == MEASURE_BIDIRECTIONAL;
    line->n = 0;
    for (int i = 0; i < report->nresults && line->n < BENCH_MAX_SIZES; i++) {
        const struct result *result = &report->results[i];

        if (result->measure != measure || !result->by[method].measured ||
            value_of(result, method) <= 0)
            continue;
        line->points[line->n].x = (double)result->nbytes;
        line->points[line->n++].y = value_of(result, method);
    }
}

/* The first method's lines above the others. Returns how many there are. */
static int fill_lines(const struct report *report, unsigned measures, struct plot_line *lines)
{
    int n = 0;

    for (int method = METHODS - 1; method >= 0; method--)
        for (int measure = 0; measure < MEASURES; measure++)
            if (measures & 1u << measure)
                fill_line(report, (enum measure)measure, (enum method)method, &lines[n++]);
    return n;
}

static void draw_plots(const struct report *report, struct plot *plots[], int n,
                       struct text *text)
{
    int width = n == 2 ? 960 : 640, height = TOP + PLOT_HEIGHT + PLOT_BELOW;
    const char *line = report->machine, *next = line + strcspn(line, "\n");

    svg_begin(text, width, height, "Latency and bandwidth by message size");
    svg_title(text, line, next + (*next == '\n'), report->gpu_name);
    for (int i = 0; i < n; i++) {
        plots[i]->left = LEFT + (double)width / n * i;
        plots[i]->width = (double)width / n - LEFT - RIGHT;
        plot_draw(plots[i], text);
    }
    svg_end(text);
}

void draw_report(const struct report *report, struct text *text)
{
    static const char dashed[] = " (dashed: both ways at once)", x_title[] = "message size in bytes";
    static const unsigned measures[] = {1u << MEASURE_LATENCY,
                                        1u << MEASURE_BANDWIDTH | 1u << MEASURE_BIDIRECTIONAL};
    struct plot plots[] = {
        {.title = "Latency", .unit = "us", .x_title = x_title, .dashed = dashed, .top = TOP},
        {.title = "Bandwidth", .unit = "GB/s", .x_title = x_title, .dashed = dashed, .top = TOP},
    };
    struct plot_line *lines = calloc(2 * MAX_LINES, sizeof *lines);
    struct plot *shown[2];
    int n = 0;

    if (!lines) {
        text->failed = true;
        return;
    }
    for (int i = 0; i < 2; i++) {
        plots[i].lines = lines + i * MAX_LINES;
        plots[i].nlines = fill_lines(report, measures[i], lines + i * MAX_LINES);
        if (plot_find_ranges(&plots[i]))
            shown[n++] = &plots[i];
    }
    draw_plots(report, shown, n, text);
    free(lines);
}
