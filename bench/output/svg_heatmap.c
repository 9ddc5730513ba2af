/* Matrices as heat maps. */
#include <math.h>

#include "bench/output/svg.h"

#define MAX_KEYS 64
#define HEAT_TOP 52 /* the title, and the names of the columns */
#define HEAT_LEFT 52 /* at least */
#define HEAT_HALF 10 /* columns that fit into half of the width */
#define HEAT_NARROW 64 /* a cell has room for three digits, its column for a number */

/* "GPU 0", but words say themselves what they are. */
static void add_key(const struct table *table, int row, int column, struct text *text)
{
    if (table->schema->columns[column].kind != COLUMN_WORD)
        text_add(text, "%s ", table->schema->columns[column].heading);
    draw_cell(table, row, column, text);
}

/* Room for the names of the rows. */
static double heat_left(const struct table *table, const struct table_view *view, const int *down,
                        int n)
{
    double left = HEAT_LEFT;

    for (int i = 0; i < n; i++) {
        struct text name = {0};

        add_key(table, down[i], view->down, &name);
        left = fmax(left, SVG_LETTER * (double)name.length + 12);
        text_clear(&name);
    }
    return left;
}

static void draw_heat_cell(const struct table *table, const struct table_view *view, int row,
                           struct svg_place place, double most, struct text *text)
{
    double value = draw_value(table, view, row), height = 30;

    text_add(text, "  <rect class=\"heat\" fill-opacity=\"%.2f\" x=\"%.1f\" y=\"%.1f\" "
                   "width=\"%.1f\" height=\"%.1f\"/>\n",
             most > 0 ? 0.06 + 0.54 * value / most : 0, place.left + 1, place.top + 1,
             place.width - 2, height - 2);
    text_add(text, "  <text class=\"x\" x=\"%.1f\" y=\"%.1f\">",
             place.left + place.width / 2, place.top + 20);
    if (row < 0)
        text_add(text, "-");
    else if (place.width < HEAT_NARROW)
        text_add(text, value < 99.95 ? "%.3g" : "%.0f", value);
    else
        draw_cell(table, row, view->value, text);
    text_add(text, "</text>\n");
}

/* "GPU 0", or in narrow columns the word once, at the left of the numbers. */
static void draw_heat_names(const struct table *table, const struct table_view *view,
                            const int *across, int n, struct svg_place cell, struct text *text)
{
    const char *heading = table->schema->columns[view->across].heading;
    bool narrow = cell.width < HEAT_NARROW;

    if (narrow)
        text_add(text, "  <text class=\"small y\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                 cell.left - 6, cell.top - 8, heading);
    for (int j = 0; j < n; j++, cell.left += cell.width) {
        text_add(text, "  <text class=\"small x\" x=\"%.1f\" y=\"%.1f\">%s%s",
                 cell.left + 0.5 * cell.width, cell.top - 8, narrow ? "" : heading,
                 narrow ? "" : " ");
        draw_cell(table, across[j], view->across, text);
        text_add(text, "</text>\n");
    }
}

double heat_draw(const struct table *table, const struct table_view *view, struct svg_place place,
                 struct text *text)
{
    int down[MAX_KEYS], across[MAX_KEYS];
    int ndown = view_keys(table, view, view->down, down, MAX_KEYS);
    int nacross = view_keys(table, view, view->across, across, MAX_KEYS);
    double names = heat_left(table, view, down, ndown);
    double width = nacross ? fmin(96, (place.width - names) / nacross) : 0;
    double most = draw_largest(table, view), left = place.left + names;

    if (!text || !ndown)
        return ndown ? HEAT_TOP + 30 * ndown + 12 : 0;
    draw_title(view, place, text);
    draw_heat_names(table, view, across, nacross,
                    (struct svg_place){left, place.top + HEAT_TOP, width}, text);
    for (int i = 0; i < ndown; i++) {
        struct svg_place cell = {left, place.top + HEAT_TOP + 30 * i, width};

        text_add(text, "  <text class=\"small y\" x=\"%.1f\" y=\"%.1f\">", left - 6,
                 cell.top + 20);
        add_key(table, down[i], view->down, text);
        text_add(text, "</text>\n");
        for (int j = 0; j < nacross; j++, cell.left += width)
            draw_heat_cell(table, view,
                           view_find_row(table, view, view->down, down[i], view->across, across[j]),
                           cell, most, text);
    }
    return HEAT_TOP + 30 * ndown + 12;
}

bool heat_is_wide(const struct table *table, const struct table_view *view)
{
    int across[MAX_KEYS];

    return view_keys(table, view, view->across, across, MAX_KEYS) > HEAT_HALF;
}
