#include "bench/main/html_page.h"

#include <string.h>

#include "bench/main/roofline.h"
#include "bench/output/svg.h"

#define MAX_KEYS 64

static const char *const head =
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    "  :root { color-scheme: light dark; }\n"
    "  body { font: 15px/1.5 sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem;\n"
    "         color: #2b2b2b; background: #fff; }\n"
    "  h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }\n"
    "  h3 { font-size: 1rem; margin-bottom: .3rem; }\n"
    "  table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }\n"
    "  th, td { padding: .15rem .6rem; border-bottom: 1px solid #dedbd0; text-align: right;\n"
    "           white-space: nowrap; }\n"
    "  .word { text-align: left; white-space: normal; min-width: 8em; }\n"
    "  .note { border-left: 3px solid #a9501c; padding-left: .7rem; list-style: none; }\n"
    "  .machine { list-style: none; padding: 0; color: #5a5a5a; overflow-wrap: anywhere; }\n"
    "  a { color: #33689e; } .scroll { overflow-x: auto; }\n"
    "  svg { width: 100%; min-width: 44rem; height: auto; margin-top: .8rem; }\n"
    "  summary { cursor: pointer; margin-top: .8rem; }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    body { color: #e6e4de; background: #141517; } .machine { color: #b0ada5; }\n"
    "    a { color: #7fb2e5; }\n"
    "    th, td { border-color: #36383c; }\n"
    "  }\n"
    "</style>\n";

static void add(struct text *text, const char *string)
{
    svg_escape(text, string, (int)strlen(string));
}

/* An element of each line. */
static void add_lines(struct text *text, const char *begin, const char *lines, const char *end)
{
    for (const char *at = lines ? lines : ""; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        text_add(text, "%s", begin);
        svg_escape(text, at, (int)strcspn(at, "\n"));
        text_add(text, "%s\n", end);
    }
}

/* ---- tables */

static void add_cell(const struct table *table, int row, int column, struct text *text)
{
    struct text shown = {0};

    if (row < 0)
        text_add(&shown, "-");
    else
        table_format_cell(table, row, column, &shown);
    add(text, shown.bytes ? shown.bytes : "");
    text->failed |= shown.failed;
    text_clear(&shown);
}

static const char *style_of(const struct table *table, int column)
{
    return table->schema->columns[column].kind == COLUMN_WORD ? " class=\"word\"" : "";
}

static void add_rows(const struct table *table, const struct table_view *view, struct text *text)
{
    const struct table_schema *schema = table->schema;

    text_add(text, "<tr>");
    for (int column = 0; column < schema->ncolumns; column++)
        if (view->columns >> column & 1) {
            text_add(text, "<th%s>", style_of(table, column));
            add(text, schema->columns[column].heading);
            text_add(text, "</th>");
        }
    text_add(text, "</tr>\n");
    for (int row = view_next_row(table, view, -1); row >= 0;
         row = view_next_row(table, view, row)) {
        text_add(text, "<tr>");
        for (int column = 0; column < schema->ncolumns; column++)
            if (view->columns >> column & 1) {
                text_add(text, "<td%s>", style_of(table, column));
                add_cell(table, row, column, text);
                text_add(text, "</td>");
            }
        text_add(text, "</tr>\n");
    }
}

static void add_matrix(const struct table *table, const struct table_view *view, struct text *text)
{
    int down[MAX_KEYS], across[MAX_KEYS];
    int ndown = view_keys(table, view, view->down, down, MAX_KEYS);
    int nacross = view_keys(table, view, view->across, across, MAX_KEYS);

    text_add(text, "<tr><th></th>");
    for (int j = 0; j < nacross; j++) {
        text_add(text, "<th>%s ", table->schema->columns[view->across].heading);
        add_cell(table, across[j], view->across, text);
        text_add(text, "</th>");
    }
    text_add(text, "</tr>\n");
    for (int i = 0; i < ndown; i++) {
        text_add(text, "<tr><th>%s ", table->schema->columns[view->down].heading);
        add_cell(table, down[i], view->down, text);
        text_add(text, "</th>");
        for (int j = 0; j < nacross; j++) {
            text_add(text, "<td>");
            add_cell(table,
                     view_find_row(table, view, view->down, down[i], view->across, across[j]),
                     view->value, text);
            text_add(text, "</td>");
        }
        text_add(text, "</tr>\n");
    }
}

static void add_view(const struct table *table, const struct table_view *view, struct text *text)
{
    if (view_next_row(table, view, -1) < 0)
        return;
    text_add(text, "<h3>");
    add(text, view->title);
    /* Rows have their units in their headings. */
    if (view->unit && view->layout == VIEW_MATRIX)
        text_add(text, ", %s", view->unit);
    text_add(text, "</h3>\n<div class=\"scroll\"><table>\n");
    if (view->layout == VIEW_MATRIX)
        add_matrix(table, view, text);
    else
        add_rows(table, view, text);
    text_add(text, "</table></div>\n");
}

static void add_tables(const struct table *table, struct text *text)
{
    for (int i = 0; i < table->schema->nviews; i++)
        add_view(table, &table->schema->views[i], text);
}

/* ---- ceilings */

/* The next roofline row on a section behind this row (-1: the first), or -1. */
static int next_roofline(const struct table *roofline, const struct page_section *section, int row)
{
    for (row++; row < roofline->nrows; row++)
        if (strcmp(table_cell(roofline, row, ROOFLINE_SUBCOMMAND)->word, section->subcommand) == 0)
            return row;
    return -1;
}

/* A row for each roofline row; one that says so where a section has none. */
static void add_summary_rows(const struct page *page, const struct page_section *section,
                             struct text *text)
{
    static const int shown[] = {ROOFLINE_WHAT, ROOFLINE_CEILING, ROOFLINE_GB_PER_S,
                                ROOFLINE_PERCENT, ROOFLINE_WHY};
    int row = next_roofline(page->roofline, section, -1);

    if (row < 0 || section->absent) {
        text_add(text, "<tr><td class=\"word\"><a href=\"#%s\">%s</a></td>"
                       "<td class=\"word\" colspan=\"5\">%s</td></tr>\n",
                 section->subcommand, section->subcommand,
                 section->absent ? "not measured" : "nothing that has a ceiling");
        return;
    }
    for (; row >= 0; row = next_roofline(page->roofline, section, row)) {
        text_add(text, "<tr><td class=\"word\"><a href=\"#%s\">%s</a></td>", section->subcommand,
                 section->subcommand);
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
            text_add(text, "<td%s>", style_of(page->roofline, shown[i]));
            add_cell(page->roofline, row, shown[i], text);
            text_add(text, "</td>");
        }
        text_add(text, "</tr>\n");
    }
}

static void add_summary(const struct page *page, struct text *text)
{
    text_add(text, "<h2>Ceilings, and what was measured</h2>\n"
                   "<div class=\"scroll\"><table>\n<tr><th class=\"word\">subcommand</th>"
                   "<th class=\"word\">what</th><th>ceiling GB/s</th><th>measured GB/s</th>"
                   "<th>share %%</th><th class=\"word\">where the ceiling comes from</th></tr>\n");
    for (int i = 0; i < page->nsections; i++)
        add_summary_rows(page, &page->sections[i], text);
    text_add(text, "</table></div>\n");
}

/* "put by kernels: 370 GB/s, 18 % below the ceiling of 450 GB/s (18 NVLinks of 25 GB/s)" */
static void add_result(const struct table *roofline, int row, struct text *text)
{
    double percent = table_cell(roofline, row, ROOFLINE_PERCENT)->number;

    text_add(text, "<li>");
    add_cell(roofline, row, ROOFLINE_WHAT, text);
    text_add(text, ": ");
    add_cell(roofline, row, ROOFLINE_GB_PER_S, text);
    if (!table_cell(roofline, row, ROOFLINE_CEILING)->present) {
        text_add(text, " GB/s; its ceiling is not known</li>\n");
        return;
    }
    text_add(text, " GB/s, %.0f %% %s the ceiling of ",
             percent > 100 ? percent - 100 : 100 - percent, percent > 100 ? "above" : "below");
    add_cell(roofline, row, ROOFLINE_CEILING, text);
    text_add(text, " GB/s (");
    add_cell(roofline, row, ROOFLINE_WHY, text);
    text_add(text, ")</li>\n");
}

static void add_roofline(const struct table *roofline, const struct page_section *section,
                         struct text *text)
{
    int row = next_roofline(roofline, section, -1);

    if (row < 0)
        return;
    text_add(text, "<ul>\n");
    for (; row >= 0; row = next_roofline(roofline, section, row))
        add_result(roofline, row, text);
    text_add(text, "</ul>\n");
}

/* ---- the page */

static void add_notes(const struct table *table, struct text *text)
{
    if (!table->notes.length)
        return;
    text_add(text, "<ul class=\"note\">\n");
    add_lines(text, "<li>", table->notes.bytes, "</li>");
    text_add(text, "</ul>\n");
}

static void add_picture(const struct table *table, struct text *text)
{
    text_add(text, "<div class=\"scroll\">\n");
    table_draw(table, text);
    text_add(text, "</div>\n");
}

static void add_section(const struct page *page, const struct page_section *section,
                        struct text *text)
{
    text_add(text, "<h2 id=\"%s\">", section->subcommand);
    add(text, section->title);
    text_add(text, "</h2>\n<p>");
    add(text, section->about);
    text_add(text, "</p>\n");
    if (section->absent) {
        text_add(text, "<p class=\"note\">Not measured: ");
        add(text, section->absent);
        text_add(text, "</p>\n");
        return;
    }
    add_roofline(page->roofline, section, text);
    add_notes(section->table, text);
    add_picture(section->table, text);
    text_add(text, "<details><summary>Numbers</summary>\n<ul class=\"machine\">\n");
    add_lines(text, "<li>", section->table->machine.bytes, "</li>");
    text_add(text, "</ul>\n");
    add_tables(section->table, text);
    text_add(text, "</details>\n");
    text->failed |= section->table->failed;
}

void page_render(const struct page *page, struct text *text)
{
    text_add(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<title>gpubind-bench report</title>\n%s</head>\n<body>\n"
                   "<h1>What the GPUs of this machine reach</h1>\n<ul class=\"machine\">\n<li>",
             head);
    add(text, page->date);
    text_add(text, ", gpubind-bench %s</li>\n", page->version);
    add_lines(text, "<li>", page->roofline->machine.bytes, "</li>");
    text_add(text, "</ul>\n");
    add_summary(page, text);
    for (int i = 0; i < page->nsections; i++)
        add_section(page, &page->sections[i], text);
    text_add(text, "</body>\n</html>\n");
    text->failed |= page->roofline->failed;
}
