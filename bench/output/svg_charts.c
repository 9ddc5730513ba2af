/* Pictures of a sheet. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/output/svg.h"

#define WIDTH 960
#define HALF 480
#define TOP 84
#define MARGIN 22
#define HALF_WIDTH (HALF - 1.5 * MARGIN)

void draw_cell(const struct sheet *sheet, int row, int column, struct text *text)
{
    struct text shown = {0};

    sheet_show(sheet, row, column, &shown);
    svg_escape(text, shown.bytes ? shown.bytes : "", (int)shown.length);
    text_clear(&shown);
}

double draw_value(const struct sheet *sheet, const struct sheet_part *part, int row)
{
    return row < 0 ? 0 : sheet_cell(sheet, row, part->value)->number;
}

double draw_largest(const struct sheet *sheet, const struct sheet_part *part)
{
    double most = 0;

    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row))
        most = fmax(most, draw_value(sheet, part, row));
    return most;
}

void draw_title(const struct sheet_part *part, struct svg_place place, struct text *text)
{
    text_add(text, "\n  <text x=\"%.1f\" y=\"%.1f\">", place.left, place.top + 16);
    svg_escape(text, part->title, (int)strlen(part->title));
    text_add(text, "%s%s</text>\n", part->unit ? ", " : "", part->unit ? part->unit : "");
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
        draw_cell(sheet, row, column, text);
        between = ", ";
    }
}

/* Room for the names of all rows. */
static double bars_left(const struct sheet *sheet, const struct sheet_part *part)
{
    double left = 0;

    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row)) {
        struct text name = {0};

        add_bar_name(sheet, part, row, &name);
        left = fmax(left, SVG_LETTER * (double)name.length + 16);
        text_clear(&name);
    }
    return left;
}

bool bars_are_wide(const struct sheet *sheet, const struct sheet_part *part)
{
    return bars_left(sheet, part) > 0.5 * HALF_WIDTH;
}

double bars_draw(const struct sheet *sheet, const struct sheet_part *part, struct svg_place place,
                 struct text *text)
{
    double most = draw_largest(sheet, part), y = place.top + BAR_TOP;
    double names = fmax(bars_left(sheet, part), 0.5 * HALF_WIDTH);
    double left = place.left + names, room = place.width - names - 64;
    int n = 0;

    if (text && sheet_next(sheet, part, -1) >= 0)
        draw_title(part, place, text);
    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row)) {
        double length = most > 0 ? room * draw_value(sheet, part, row) / most : 0;

        n++;
        if (!text)
            continue;
        text_add(text, "  <text class=\"small y\" x=\"%.1f\" y=\"%.1f\">", left - 8, y + 14);
        add_bar_name(sheet, part, row, text);
        text_add(text, "</text>\n  <rect class=\"d0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                       "height=\"16\"/>\n", left, y + 2, length);
        text_add(text, "  <text class=\"small\" x=\"%.1f\" y=\"%.1f\">", left + length + 6, y + 14);
        draw_cell(sheet, row, part->value, text);
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
        double x = sheet_cell(sheet, row, part->across)->number, y = draw_value(sheet, part, row);

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

static bool is_wide(const struct sheet *sheet, const struct sheet_part *part)
{
    return (part->picture == SHEET_HEAT && heat_is_wide(sheet, part)) ||
           (part->picture == SHEET_BARS && bars_are_wide(sheet, part));
}

/* Returns how high the picture is, 0 where it shows nothing. */
static double draw_parts(const struct sheet *sheet, struct text *text)
{
    struct svg_place place = {MARGIN, TOP, HALF_WIDTH};
    double highest = 0;

    for (int i = 0; i < sheet->form->nparts; i++) {
        const struct sheet_part *part = &sheet->form->parts[i];
        bool wide = is_wide(sheet, part), right = place.left > MARGIN;
        double height;

        if (wide && right) {
            place.top += highest;
            highest = 0;
            right = false;
            place.left = MARGIN;
        }
        place.width = wide ? WIDTH - 2 * MARGIN : HALF_WIDTH;
        height = draw_part(sheet, part, place, text);
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
