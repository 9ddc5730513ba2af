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

static void add_cell(const struct sheet *sheet, int row, int column, struct text *text)
{
    struct text shown = {0};

    if (row < 0)
        text_add(&shown, "-");
    else
        sheet_show(sheet, row, column, &shown);
    add(text, shown.bytes ? shown.bytes : "");
    text->failed |= shown.failed;
    text_clear(&shown);
}

static const char *style_of(const struct sheet *sheet, int column)
{
    return sheet->form->columns[column].kind == SHEET_WORD ? " class=\"word\"" : "";
}

static void add_rows(const struct sheet *sheet, const struct sheet_part *part, struct text *text)
{
    const struct sheet_form *form = sheet->form;

    text_add(text, "<tr>");
    for (int column = 0; column < form->ncolumns; column++)
        if (part->columns >> column & 1) {
            text_add(text, "<th%s>", style_of(sheet, column));
            add(text, form->columns[column].heading);
            text_add(text, "</th>");
        }
    text_add(text, "</tr>\n");
    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row)) {
        text_add(text, "<tr>");
        for (int column = 0; column < form->ncolumns; column++)
            if (part->columns >> column & 1) {
                text_add(text, "<td%s>", style_of(sheet, column));
                add_cell(sheet, row, column, text);
                text_add(text, "</td>");
            }
        text_add(text, "</tr>\n");
    }
}

static void add_matrix(const struct sheet *sheet, const struct sheet_part *part,
                       struct text *text)
{
    int down[MAX_KEYS], across[MAX_KEYS];
    int ndown = sheet_keys(sheet, part, part->down, down, MAX_KEYS);
    int nacross = sheet_keys(sheet, part, part->across, across, MAX_KEYS);

    text_add(text, "<tr><th></th>");
    for (int j = 0; j < nacross; j++) {
        text_add(text, "<th>%s ", sheet->form->columns[part->across].heading);
        add_cell(sheet, across[j], part->across, text);
        text_add(text, "</th>");
    }
    text_add(text, "</tr>\n");
    for (int i = 0; i < ndown; i++) {
        text_add(text, "<tr><th>%s ", sheet->form->columns[part->down].heading);
        add_cell(sheet, down[i], part->down, text);
        text_add(text, "</th>");
        for (int j = 0; j < nacross; j++) {
            text_add(text, "<td>");
            add_cell(sheet,
                     sheet_find(sheet, part, part->down, down[i], part->across, across[j]),
                     part->value, text);
            text_add(text, "</td>");
        }
        text_add(text, "</tr>\n");
    }
}

static void add_part(const struct sheet *sheet, const struct sheet_part *part, struct text *text)
{
    if (sheet_next(sheet, part, -1) < 0)
        return;
    text_add(text, "<h3>");
    add(text, part->title);
    /* Rows have their units in their headings. */
    if (part->unit && part->table == SHEET_MATRIX)
        text_add(text, ", %s", part->unit);
    text_add(text, "</h3>\n<div class=\"scroll\"><table>\n");
    if (part->table == SHEET_MATRIX)
        add_matrix(sheet, part, text);
    else
        add_rows(sheet, part, text);
    text_add(text, "</table></div>\n");
}

static void add_tables(const struct sheet *sheet, struct text *text)
{
    for (int i = 0; i < sheet->form->nparts; i++)
        add_part(sheet, &sheet->form->parts[i], text);
}

/* ---- ceilings */

/* The next verdict on a section behind this row (-1: the first), or -1. */
static int next_verdict(const struct sheet *verdicts, const struct page_section *section, int row)
{
    for (row++; row < verdicts->nrows; row++)
        if (strcmp(sheet_cell(verdicts, row, VERDICT_SECTION)->word, section->subcommand) == 0)
            return row;
    return -1;
}

/* A row for each verdict; one that says so where a section has none. */
static void add_summary_rows(const struct page *page, const struct page_section *section,
                             struct text *text)
{
    static const int shown[] = {VERDICT_WHAT, VERDICT_CEILING, VERDICT_GB_PER_S, VERDICT_PERCENT,
                                VERDICT_WHY};
    int row = next_verdict(page->verdicts, section, -1);

    if (row < 0 || section->absent) {
        text_add(text, "<tr><td class=\"word\"><a href=\"#%s\">%s</a></td>"
                       "<td class=\"word\" colspan=\"5\">%s</td></tr>\n",
                 section->subcommand, section->subcommand,
                 section->absent ? "not measured" : "nothing that has a ceiling");
        return;
    }
    for (; row >= 0; row = next_verdict(page->verdicts, section, row)) {
        text_add(text, "<tr><td class=\"word\"><a href=\"#%s\">%s</a></td>", section->subcommand,
                 section->subcommand);
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
            text_add(text, "<td%s>", style_of(page->verdicts, shown[i]));
            add_cell(page->verdicts, row, shown[i], text);
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
static void add_verdict(const struct sheet *verdicts, int row, struct text *text)
{
    double percent = sheet_cell(verdicts, row, VERDICT_PERCENT)->number;

    text_add(text, "<li>");
    add_cell(verdicts, row, VERDICT_WHAT, text);
    text_add(text, ": ");
    add_cell(verdicts, row, VERDICT_GB_PER_S, text);
    if (!sheet_cell(verdicts, row, VERDICT_CEILING)->there) {
        text_add(text, " GB/s; its ceiling is not known</li>\n");
        return;
    }
    text_add(text, " GB/s, %.0f %% %s the ceiling of ",
             percent > 100 ? percent - 100 : 100 - percent, percent > 100 ? "above" : "below");
    add_cell(verdicts, row, VERDICT_CEILING, text);
    text_add(text, " GB/s (");
    add_cell(verdicts, row, VERDICT_WHY, text);
    text_add(text, ")</li>\n");
}

static void add_verdicts(const struct sheet *verdicts, const struct page_section *section,
                         struct text *text)
{
    int row = next_verdict(verdicts, section, -1);

    if (row < 0)
        return;
    text_add(text, "<ul>\n");
    for (; row >= 0; row = next_verdict(verdicts, section, row))
        add_verdict(verdicts, row, text);
    text_add(text, "</ul>\n");
}

/* ---- the page */

static void add_notes(const struct sheet *sheet, struct text *text)
{
    if (!sheet->notes.length)
        return;
    text_add(text, "<ul class=\"note\">\n");
    add_lines(text, "<li>", sheet->notes.bytes, "</li>");
    text_add(text, "</ul>\n");
}

static void add_picture(const struct sheet *sheet, struct text *text)
{
    text_add(text, "<div class=\"scroll\">\n");
    sheet_draw(sheet, text);
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
    add_verdicts(page->verdicts, section, text);
    add_notes(section->sheet, text);
    add_picture(section->sheet, text);
    text_add(text, "<details><summary>Numbers</summary>\n<ul class=\"machine\">\n");
    add_lines(text, "<li>", section->sheet->machine.bytes, "</li>");
    text_add(text, "</ul>\n");
    add_tables(section->sheet, text);
    text_add(text, "</details>\n");
    text->failed |= section->sheet->failed;
}

void page_render(const struct page *page, struct text *text)
{
    text_add(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<title>gpubind-bench report</title>\n%s</head>\n<body>\n"
                   "<h1>What the GPUs of this machine reach</h1>\n<ul class=\"machine\">\n<li>",
             head);
    add(text, page->date);
    text_add(text, ", gpubind-bench %s</li>\n", page->version);
    add_lines(text, "<li>", page->verdicts->machine.bytes, "</li>");
    text_add(text, "</ul>\n");
    add_summary(page, text);
    for (int i = 0; i < page->nsections; i++)
        add_section(page, &page->sections[i], text);
    text_add(text, "</body>\n</html>\n");
    text->failed |= page->verdicts->failed;
}
