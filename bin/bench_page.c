#include "bin/bench_page.h"

#include <string.h>

#include "bin/bench_svg.h"

#define MAX_KEYS 64

static const char *const head =
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    "  :root { color-scheme: light dark; }\n"
    "  body { font: 15px/1.5 sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem;\n"
    "         color: #2b2b2b; background: #fff; }\n"
    "  h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }\n"
    "  h3 { font-size: 1rem; margin-bottom: .3rem; }\n"
    "  table { border-collapse: collapse; font-variant-numeric: tabular-nums; }\n"
    "  th, td { padding: .15rem .7rem; border-bottom: 1px solid #dedbd0; text-align: right; }\n"
    "  .word { text-align: left; } .note { border-left: 3px solid #a9501c; padding-left: .7rem; }\n"
    "  .machine { list-style: none; padding: 0; color: #5a5a5a; }\n"
    "  .scroll { overflow-x: auto; } svg { max-width: 100%; height: auto; margin-top: .8rem; }\n"
    "  summary { cursor: pointer; margin-top: .8rem; }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    body { color: #e6e4de; background: #141517; } .machine { color: #b0ada5; }\n"
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

/* ---- the page */

static void add_section(const struct page_section *section, struct text *text)
{
    text_add(text, "<h2>");
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
    add_lines(text, "<p class=\"note\">", section->sheet->notes.bytes, "</p>");
    sheet_draw(section->sheet, text);
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
    if (page->verdicts->nrows) {
        text_add(text, "<h2>Verdicts</h2>\n");
        add_tables(page->verdicts, text);
    }
    for (int i = 0; i < page->nsections; i++)
        add_section(&page->sections[i], text);
    text_add(text, "</body>\n</html>\n");
    text->failed |= page->verdicts->failed;
}
