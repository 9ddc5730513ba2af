/* Pictures of a sheet. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bin/bench_svg.h"

#define MAX_KEYS 64
#define WIDTH 960
#define HALF 480
#define TOP 84
#define MARGIN 22

/* A cell as text of an element. */
static void add_cell(const struct sheet *sheet, int row, int column, struct text *text)
{
    struct text shown = {0};

    sheet_show(sheet, row, column, &shown);
    svg_escape(text, shown.bytes ? shown.bytes : "", (int)shown.length);
    text_clear(&shown);
}

static double value_of(const struct sheet *sheet, const struct sheet_part *part, int row)
{
    return row < 0 ? 0 : sheet_cell(sheet, row, part->value)->number;
}

static double largest(const struct sheet *sheet, const struct sheet_part *part)
{
    double most = 0;

    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row))
        most = fmax(most, value_of(sheet, part, row));
    return most;
}

static void add_title(const struct sheet_part *part, struct svg_place place, struct text *text)
{
    text_add(text, "\n  <text x=\"%.1f\" y=\"%.1f\">", place.left, place.top + 16);
    svg_escape(text, part->title, (int)strlen(part->title));
    text_add(text, "%s%s</text>\n", part->unit ? ", " : "", part->unit ? part->unit : "");
}

/* ---- heat maps */

#define HEAT_TOP 52 /* the title, and the names of the columns */
#define HEAT_LEFT 52
#define HEAT_NARROW 64 /* a cell has room for three digits, its column for a number */

static void draw_heat_cell(const struct sheet *sheet, const struct sheet_part *part, int row,
                           struct svg_place place, double most, struct text *text)
{
    double value = value_of(sheet, part, row), height = 30;

    text_add(text, "  <rect class=\"d0\" fill-opacity=\"%.2f\" x=\"%.1f\" y=\"%.1f\" "
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
        add_cell(sheet, row, part->value, text);
    text_add(text, "</text>\n");
}

/* "GPU 0", or in narrow columns the word once, at the left of the numbers. */
static void draw_heat_names(const struct sheet *sheet, const struct sheet_part *part,
                            const int *across, int n, struct svg_place cell, struct text *text)
{
    const char *heading = sheet->form->columns[part->across].heading;
    bool narrow = cell.width < HEAT_NARROW;

    if (narrow)
        text_add(text, "  <text class=\"small y\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                 cell.left - 6, cell.top - 8, heading);
    for (int j = 0; j < n; j++, cell.left += cell.width) {
        text_add(text, "  <text class=\"small x\" x=\"%.1f\" y=\"%.1f\">%s%s",
                 cell.left + 0.5 * cell.width, cell.top - 8, narrow ? "" : heading,
                 narrow ? "" : " ");
        add_cell(sheet, across[j], part->across, text);
        text_add(text, "</text>\n");
    }
}

double heat_draw(const struct sheet *sheet, const struct sheet_part *part, struct svg_place place,
                 struct text *text)
{
    int down[MAX_KEYS], across[MAX_KEYS];
    int ndown = sheet_keys(sheet, part, part->down, down, MAX_KEYS);
    int nacross = sheet_keys(sheet, part, part->across, across, MAX_KEYS);
    double width = nacross ? fmin(96, (place.width - HEAT_LEFT) / nacross) : 0;
    double most = largest(sheet, part), left = place.left + HEAT_LEFT;

    if (!text || !ndown)
        return ndown ? HEAT_TOP + 30 * ndown + 12 : 0;
    add_title(part, place, text);
    draw_heat_names(sheet, part, across, nacross,
                    (struct svg_place){left, place.top + HEAT_TOP, width}, text);
    for (int i = 0; i < ndown; i++) {
        struct svg_place cell = {left, place.top + HEAT_TOP + 30 * i, width};

        text_add(text, "  <text class=\"small y\" x=\"%.1f\" y=\"%.1f\">%s ", left - 6,
                 cell.top + 20, sheet->form->columns[part->down].heading);
        add_cell(sheet, down[i], part->down, text);
        text_add(text, "</text>\n");
        for (int j = 0; j < nacross; j++, cell.left += width)
            draw_heat_cell(sheet, part,
                           sheet_find(sheet, part, part->down, down[i], part->across, across[j]),
                           cell, most, text);
    }
    return HEAT_TOP + 30 * ndown + 12;
}

/* ---- bars */

#define BAR_TOP 28
#define BAR_STEP 24

static void add_bar_name(const struct sheet *sheet, const struct sheet_part *part, int row,
                         struct text *text)
{
    const char *between = "";

    for (int column = 0; column < sheet->form->ncolumns; column++) {
        if (!(part->names >> column & 1) || !sheet_cell(sheet, row, column)->there)
            continue;
        text_add(text, "%s", between);
        if (sheet->form->columns[column].kind != SHEET_WORD)
            text_add(text, "%s ", sheet->form->columns[column].heading);
        add_cell(sheet, row, column, text);
        between = ", ";
    }
}

double bars_draw(const struct sheet *sheet, const struct sheet_part *part, struct svg_place place,
                 struct text *text)
{
    double most = largest(sheet, part), y = place.top + BAR_TOP;
    double left = place.left + 0.5 * place.width, room = 0.5 * place.width - 64;
    int n = 0;

    if (text && sheet_next(sheet, part, -1) >= 0)
        add_title(part, place, text);
    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row)) {
        double length = most > 0 ? room * value_of(sheet, part, row) / most : 0;

        n++;
        if (!text)
            continue;
        text_add(text, "  <text class=\"small y\" x=\"%.1f\" y=\"%.1f\">", left - 8, y + 14);
        add_bar_name(sheet, part, row, text);
        text_add(text, "</text>\n  <rect class=\"d0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                       "height=\"16\"/>\n", left, y + 2, length);
        text_add(text, "  <text class=\"small\" x=\"%.1f\" y=\"%.1f\">", left + length + 6, y + 14);
        add_cell(sheet, row, part->value, text);
        text_add(text, "</text>\n");
        y += BAR_STEP;
    }
    return n ? BAR_TOP + BAR_STEP * n + 12 : 0;
}

/* ---- lines */

#define PLOT_LEFT 48
#define MAX_LINES (2 * PLOT_COLOURS)

static void fill_line(const struct sheet *sheet, const struct sheet_part *part, int key,
                      struct plot_line *line)
{
    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row)) {
        double x = sheet_cell(sheet, row, part->across)->number, y = value_of(sheet, part, row);

        if (!sheet_same(sheet, part->down, row, key) || x <= 0 || y <= 0 ||
            line->n == BENCH_MAX_SIZES)
            continue;
        line->points[line->n].x = x;
        line->points[line->n++].y = y;
    }
}

double lines_draw(const struct sheet *sheet, const struct sheet_part *part,
                  struct svg_place place, struct text *text)
{
    int keys[MAX_LINES], n = sheet_keys(sheet, part, part->down, keys, MAX_LINES);
    struct plot_line *lines = calloc(MAX_LINES, sizeof *lines);
    double height = 0;
    struct plot plot = {.title = part->title,
                        .unit = part->unit,
                        .x_title = sheet->form->columns[part->across].heading,
                        .lines = lines,
                        .nlines = n,
                        .top = (int)place.top + PLOT_ABOVE,
                        .left = place.left + PLOT_LEFT,
                        .width = place.width - PLOT_LEFT - MARGIN};

    for (int i = 0; i < n && lines; i++) {
        lines[i].name = sheet_cell(sheet, keys[i], part->down)->word;
        lines[i].colour = i % PLOT_COLOURS;
        lines[i].dashed = i >= PLOT_COLOURS;
        fill_line(sheet, part, keys[i], &lines[i]);
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

static double draw_part(const struct sheet *sheet, const struct sheet_part *part,
                        struct svg_place place, struct text *text)
{
    switch (part->picture) {
    case SHEET_HEAT:
        return heat_draw(sheet, part, place, text);
    case SHEET_BARS:
        return bars_draw(sheet, part, place, text);
    case SHEET_LINES:
        return lines_draw(sheet, part, place, text);
    default:
        return 0;
    }
}

/* Returns how high the picture is, 0 where it shows nothing. */
static double draw_parts(const struct sheet *sheet, struct text *text)
{
    struct svg_place place = {MARGIN, TOP, HALF - 1.5 * MARGIN};
    double highest = 0;

    for (int i = 0; i < sheet->form->nparts; i++) {
        double height = draw_part(sheet, &sheet->form->parts[i], place, text);

        if (height <= 0)
            continue;
        highest = fmax(highest, height);
        if (place.left > MARGIN) {
            place.top += highest;
            highest = 0;
        }
        place.left = place.left > MARGIN ? MARGIN : HALF + 0.5 * MARGIN;
    }
    return place.top + highest > TOP ? place.top + highest : 0;
}

void sheet_draw(const struct sheet *sheet, struct text *text)
{
    double height = draw_parts(sheet, NULL);
    const char *line = sheet->machine.bytes ? sheet->machine.bytes : "";
    const char *next = line + strcspn(line, "\n");

    if (height <= 0)
        return;
    svg_begin(text, WIDTH, (int)height, sheet->form->subcommand);
    svg_title(text, line, next + (*next == '\n'), NULL);
    draw_parts(sheet, text);
    svg_end(text);
    text->failed |= sheet->failed;
}
