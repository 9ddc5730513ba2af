/* Lines on logarithmic axes. */
#include <math.h>
#include <string.h>

#include "bench/output/svg.h"

bool plot_find_ranges(struct plot *plot)
{
    plot->x_low = plot->y_low = HUGE_VAL;
    plot->x_high = plot->y_high = -HUGE_VAL;
    for (int i = 0; i < plot->nlines; i++)
        for (int j = 0; j < plot->lines[i].n; j++) {
            double x = log2(plot->lines[i].points[j].x);
            double y = log10(plot->lines[i].points[j].y);

            plot->x_low = fmin(plot->x_low, floor(x));
            plot->x_high = fmax(plot->x_high, ceil(x));
            plot->y_low = fmin(plot->y_low, floor(y));
            plot->y_high = fmax(plot->y_high, ceil(y));
        }
    if (plot->x_low > plot->x_high)
        return false;
    plot->x_high += plot->x_high == plot->x_low;
    plot->y_high += plot->y_high == plot->y_low;
    return true;
}

static double place_x(const struct plot *plot, double x)
{
    double share = (log2(x) - plot->x_low) / (plot->x_high - plot->x_low);

    return plot->left + plot->width * share;
}

static double place_y(const struct plot *plot, double y)
{
    return plot->top + PLOT_HEIGHT * (plot->y_high - log10(y)) / (plot->y_high - plot->y_low);
}

static void draw_x_axis(const struct plot *plot, struct text *text)
{
    double step = ceil((plot->x_high - plot->x_low) / 7);
    int below = plot->top + PLOT_HEIGHT;

    for (int i = 0; plot->x_low + i * step <= plot->x_high; i++) {
        double power = plot->x_low + i * step, x = place_x(plot, exp2(power));

        text_add(text, "  <path class=\"grid\" d=\"M%.1f %dv%d\"/>\n", x, plot->top, PLOT_HEIGHT);
        text_add(text, "  <text class=\"small x\" x=\"%.1f\" y=\"%d\">", x, below + 18);
        text_add_size(text, (size_t)exp2(power));
        text_add(text, "</text>\n");
    }
    text_add(text, "  <text class=\"small x\" x=\"%.1f\" y=\"%d\">%s</text>\n",
             plot->left + plot->width / 2, below + 38, plot->x_title);
}

static void draw_y_axis(const struct plot *plot, struct text *text)
{
    static const int digits[] = {1, 2, 5};
    /* With many powers of ten there is no room for numbers between them. */
    int n = plot->y_high - plot->y_low > 3 ? 1 : 3;

    for (int step = 0; plot->y_low + step <= plot->y_high; step++)
        for (int i = 0; i < n && (i == 0 || plot->y_low + step < plot->y_high); i++) {
            double power = plot->y_low + step, value = digits[i] * pow(10, power);
            double y = place_y(plot, value);

            text_add(text, "  <path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", plot->left, y,
                     plot->width);
            text_add(text, "  <text class=\"small y\" x=\"%.1f\" y=\"%.1f\">%.*f</text>\n",
                     plot->left - 8, y + 4, power < 0 ? (int)-power : 0, value);
        }
}

/* The numbers of its points are shown under the pointer. */
static void draw_line(const struct plot *plot, const struct plot_line *line, struct text *text)
{
    struct text points = {0}, dots = {0};

    for (int i = 0; i < line->n; i++) {
        double x = place_x(plot, line->points[i].x), y = place_y(plot, line->points[i].y);

        text_add(&points, "%s%.1f,%.1f", points.length ? " " : "", x, y);
        text_add(&dots, "  <circle class=\"d%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"><title>%s ",
                 line->colour, x, y, line->name);
        text_add_size(&dots, (size_t)line->points[i].x);
        text_add(&dots, ": %.4g %s</title></circle>\n", line->points[i].y, plot->unit);
    }
    if (points.length)
        text_add(text, "  <polyline class=\"line m%d%s\" points=\"%s\"/>\n%s", line->colour,
                 line->dashed ? " both" : "", points.bytes, dots.bytes);
    text->failed |= points.failed || dots.failed;
    text_clear(&dots);
    text_clear(&points);
}

static const struct plot_line *first_of(const struct plot *plot, int colour)
{
    for (int i = 0; i < plot->nlines; i++)
        if (plot->lines[i].colour == colour && plot->lines[i].n)
            return &plot->lines[i];
    return NULL;
}

/* What the plot shows and what the lines are, above it. */
static void draw_names(const struct plot *plot, struct text *text)
{
    double x = plot->left;
    bool dashed = false;

    for (int colour = 0; colour < PLOT_COLOURS; colour++) {
        const struct plot_line *line = first_of(plot, colour);

        if (!line)
            continue;
        text_add(text, "  <path class=\"line m%d\" d=\"M%.1f %dh26\"/>\n", colour, x,
                 plot->top - 16);
        text_add(text, "  <text class=\"small\" x=\"%.1f\" y=\"%d\">%s</text>\n", x + 32,
                 plot->top - 12, line->name);
        x += 52 + 6.6 * (double)strlen(line->name);
    }
    for (int i = 0; i < plot->nlines; i++)
        dashed |= plot->lines[i].dashed && plot->lines[i].n;
    text_add(text, "  <text x=\"%.1f\" y=\"%d\">%s, %s%s</text>\n", plot->left, plot->top - 34,
             plot->title, plot->unit, dashed && plot->dashed ? plot->dashed : "");
}

void plot_draw(const struct plot *plot, struct text *text)
{
    text_add(text, "\n");
    draw_names(plot, text);
    draw_x_axis(plot, text);
    draw_y_axis(plot, text);
    text_add(text, "  <path class=\"frame\" d=\"M%.1f %dv%dh%.1f\"/>\n", plot->left, plot->top,
             PLOT_HEIGHT, plot->width);
    for (int i = 0; i < plot->nlines; i++)
        draw_line(plot, &plot->lines[i], text);
}
