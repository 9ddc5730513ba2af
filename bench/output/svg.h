/* Pictures as SVG: what all of them share, and the kinds of panels. */
#ifndef GPUBIND_BENCH_OUTPUT_SVG_H
#define GPUBIND_BENCH_OUTPUT_SVG_H

#include <stdbool.h>

#include "bench/lib/options.h"
#include "bench/output/table.h"
#include "core/base/text.h"

/* The element, its styles (for light and for dark pages) and the card behind all. The
 * classes m0 to m2 are colours of lines, d0 to d2 the same as fillings. */
void svg_begin(struct text *text, int width, int height, const char *label);
void svg_end(struct text *text);
/* The first length characters as text of an element. */
void svg_escape(struct text *text, const char *from, int length);
/* The title's line and two smaller ones below it; NULL: none. They end at y = 65. */
void svg_title(struct text *text, const char *title, const char *second, const char *third);

/* ---- lines on logarithmic axes; x is a number of bytes */

#define PLOT_COLOURS 3
#define PLOT_HEIGHT 250
#define PLOT_ABOVE 50 /* what a plot takes above its top: its title and names */
#define PLOT_BELOW 56

struct plot_line {
    const char *name;
    int colour; /* below PLOT_COLOURS; in the legend the name of its first line stands */
    bool dashed;
    struct {
        double x, y;
    } points[BENCH_MAX_SIZES];
    int n;
};

struct plot {
    const char *title, *unit, *x_title;
    const char *dashed; /* what dashes mean, in parentheses behind the title; or NULL */
    const struct plot_line *lines; /* in the order of drawing */
    int nlines;
    int top; /* of the frame */
    double left, width;
    /* As powers of 2 and of 10; plot_find_ranges sets them. */
    double x_low, x_high, y_low, y_high;
};

/* Ranges that hold all points; false where there is none. */
bool plot_find_ranges(struct plot *plot);
void plot_draw(const struct plot *plot, struct text *text);

/* ---- of a table: parts, each in its place. They return how high they are. */

#define SVG_LETTER 6.2 /* width of small text, about */

struct svg_place {
    double left, top, width;
};

/* text NULL: nothing is drawn. */
double heat_draw(const struct table *table, const struct table_view *view, struct svg_place place,
                 struct text *text);
/* It has more columns than half of a picture has room for. */
bool heat_is_wide(const struct table *table, const struct table_view *view);
/* Its names are longer than half of half a picture. */
bool bars_are_wide(const struct table *table, const struct table_view *view);
double bars_draw(const struct table *table, const struct table_view *view, struct svg_place place,
                 struct text *text);
double lines_draw(const struct table *table, const struct table_view *view, struct svg_place place,
                  struct text *text);

/* What they share: a cell as text of an element; the number of row (-1: 0) and the part's
 * largest one; the title's line. */
void draw_cell(const struct table *table, int row, int column, struct text *text);
double draw_value(const struct table *table, const struct table_view *view, int row);
double draw_largest(const struct table *table, const struct table_view *view);
void draw_title(const struct table_view *view, struct svg_place place, struct text *text);

#endif
