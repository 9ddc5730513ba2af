/* Pictures of a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/output/svg.h"

#define WIDTH 960
#define HALF 480
#define TOP 84
#define MARGIN 22
#define HALF_WIDTH (HALF - 1.5 * MARGIN)

void draw_cell(const struct table *table, int row, int column, struct text *text)
{
    struct text shown = {0};

    table_format_cell(table, row, column, &shown);
    svg_escape(text, shown.bytes ? shown.bytes : "", (int)shown.length);
    text_clear(&shown);
}

double draw_value(const struct table *table, const struct table_view *view, int row)
{
    return row < 0 ? 0 : table_cell(table, row, view->value)->number;
}

double draw_largest(const struct table *table, const struct table_view *view)
{
    double most = 0;

    for (int row = view_next_row(table, view, -1); row >= 0; row = view_next_row(table, view, row))
        most = fmax(most, draw_value(table, view, row));
    return most;
}

void draw_title(const struct table_view *view, struct svg_place place, struct text *text)
{
    text_add(text, "\n  <text x=\"%.1f\" y=\"%.1f\">", place.left, place.top + 16);
    svg_escape(text, view->title, (int)strlen(view->title));
    text_add(text, "%s%s</text>\n", view->unit ? ", " : "", view->unit ? view->unit : "");
}

/* ---- bars */

#define BAR_TOP 28
#define BAR_STEP 24

static void add_bar_name(const struct table *table, const struct table_view *view, int row,
                         struct text *text)
{
    const char *between = "";

    for (int column = 0; column < table->schema->ncolumns; column++) {
        if (!(view->names >> column & 1) || !table_cell(table, row, column)->present)
            continue;
        text_add(text, "%s", between);
        if (table->schema->columns[column].kind != COLUMN_WORD)
            text_add(text, "%s ", table->schema->columns[column].heading);
        draw_cell(table, row, column, text);
        between = ", ";
    }
}

/* Room for the names of all rows. */
static double bars_left(const struct table *table, const struct table_view *view)
{
    double left = 0;

    for (int row = view_next_row(table, view, -1); row >= 0;
         row = view_next_row(table, view, row)) {
        struct text name = {0};

        add_bar_name(table, view, row, &name);
        left = fmax(left, SVG_LETTER * (double)name.length + 16);
        text_clear(&name);
    }
    return left;
}

bool bars_are_wide(const struct table *table, const struct table_view *view)
{
    return bars_left(table, view) > 0.5 * HALF_WIDTH;
}

double bars_draw(const struct table *table, const struct table_view *view, struct svg_place place,
                 struct text *text)
{
    double most = draw_largest(table, view), y = place.top + BAR_TOP;
    double names = fmax(bars_left(table, view), 0.5 * HALF_WIDTH);
    double left = place.left + names, room = place.width - names - 64;
    int n = 0;

    if (text && view_next_row(table, view, -1) >= 0)
        draw_title(view, place, text);
    for (int row = view_next_row(table, view, -1); row >= 0;
         row = view_next_row(table, view, row)) {
        double length = most > 0 ? room * draw_value(table, view, row) / most : 0;

        n++;
        if (!text)
            continue;
        text_add(text, "  <text class=\"small y\" x=\"%.1f\" y=\"%.1f\">", left - 8, y + 14);
        add_bar_name(table, view, row, text);
        text_add(text, "</text>\n  <rect class=\"d0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                       "height=\"16\"/>\n", left, y + 2, length);
        text_add(text, "  <text class=\"small\" x=\"%.1f\" y=\"%.1f\">", left + length + 6, y + 14);
        draw_cell(table, row, view->value, text);
        text_add(text, "</text>\n");
        y += BAR_STEP;
    }
    return n ? BAR_TOP + BAR_STEP * n + 12 : 0;
}

/* ---- lines */

#define PLOT_LEFT 48
#define MAX_LINES (2 * PLOT_COLOURS)

static void fill_line(const struct table *table, const struct table_view *view, int key,
                      struct plot_line *line)
{
    for (int row = view_next_row(table, view, -1); row >= 0;
         row = view_next_row(table, view, row)) {
        double x = table_cell(table, row, view->across)->number, y = draw_value(table, view, row);

        if (!table_same_cell(table, view->down, row, key) || x <= 0 || y <= 0 ||
            line->n == BENCH_MAX_SIZES)
            continue;
        line->points[line->n].x = x;
        line->points[line->n++].y = y;
    }
}

double lines_draw(const struct table *table, const struct table_view *view, struct svg_place place,
                  struct text *text)
{
    int keys[MAX_LINES], n = view_keys(table, view, view->down, keys, MAX_LINES);
    struct plot_line *lines = calloc(MAX_LINES, sizeof *lines);
    double height = 0;
    struct plot plot = {.title = view->title,
                        .unit = view->unit,
                        .x_title = table->schema->columns[view->across].heading,
                        .lines = lines,
                        .nlines = n,
                        .top = (int)place.top + PLOT_ABOVE,
                        .left = place.left + PLOT_LEFT,
                        .width = place.width - PLOT_LEFT - MARGIN};

    for (int i = 0; i < n && lines; i++) {
        lines[i].name = table_cell(table, keys[i], view->down)->word;
        lines[i].colour = i % PLOT_COLOURS;
        lines[i].dashed = i >= PLOT_COLOURS;
        fill_line(table, view, keys[i], &lines[i]);
    }
    if (lines && plot_find_ranges(&plot)) {
        height = PLOT_ABOVE + PLOT_HEIGHT + PLOT_BELOW;
        if (text)
            plot_draw(&plot, text);
    }
    free(lines);
    return height;
}

/* ---- all of them, two side by side */

static double draw_view(const struct table *table, const struct table_view *view,
                        struct svg_place place, struct text *text)
{
    switch (view->chart) {
    case VIEW_HEATMAP:
        return heat_draw(table, view, place, text);
    case VIEW_BARS:
        return bars_draw(table, view, place, text);
    case VIEW_LINES:
        return lines_draw(table, view, place, text);
    default:
        return 0;
    }
}

static bool is_wide(const struct table *table, const struct table_view *view)
{
    return (view->chart == VIEW_HEATMAP && heat_is_wide(table, view)) ||
           (view->chart == VIEW_BARS && bars_are_wide(table, view));
}

/* Returns how high the picture is, 0 where it shows nothing. */
static double draw_views(const struct table *table, struct text *text)
{
    struct svg_place place = {MARGIN, TOP, HALF_WIDTH};
    double highest = 0;

    for (int i = 0; i < table->schema->nviews; i++) {
        const struct table_view *view = &table->schema->views[i];
        bool wide = is_wide(table, view), right = place.left > MARGIN;
        double height;

        if (wide && right) {
            place.top += highest;
            highest = 0;
            right = false;
            place.left = MARGIN;
        }
        place.width = wide ? WIDTH - 2 * MARGIN : HALF_WIDTH;
        height = draw_view(table, view, place, text);
        if (height <= 0)
            continue;
        highest = fmax(highest, height);
        if (wide || right) {
            place.top += highest;
            highest = 0;
        }
        place.left = wide || right ? MARGIN : HALF + 0.5 * MARGIN;
    }
    return place.top + highest > TOP ? place.top + highest : 0;
}

void table_draw(const struct table *table, struct text *text)
{
    double height = draw_views(table, NULL);
    const char *line = table->machine.bytes ? table->machine.bytes : "";
    const char *next = line + strcspn(line, "\n");

    if (height <= 0)
        return;
    svg_begin(text, WIDTH, (int)height, table->schema->subcommand);
    svg_title(text, line, next + (*next == '\n'), NULL);
    draw_views(table, text);
    svg_end(text);
    text->failed |= table->failed;
}
