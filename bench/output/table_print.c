/* A sheet as tables for people, as comma-separated values and as JSON. */
#include <string.h>

#include "bench/output/table.h"

#define MAX_KEYS 64

/* Each line of the text, behind begin. */
static void add_lines(struct text *text, const char *begin, const char *lines)
{
    for (const char *at = lines ? lines : ""; *at; at += strcspn(at, "\n"), at += *at == '\n')
        text_add(text, "%s%.*s\n", begin, (int)strcspn(at, "\n"), at);
}

/* ---- tables */

static void add_padded(struct text *text, const char *word, int width, bool right)
{
    text_add(text, right ? "%*s" : "%-*s", width, word);
}

/* Every cell goes through here twice: for the width of its column, and to be printed. */
static void show(const struct sheet *sheet, int row, int column, struct text *shown)
{
    text_clear(shown);
    sheet_show(sheet, row, column, shown);
    if (!shown->bytes)
        text_add(shown, "-");
}

static int find_width(const struct sheet *sheet, const struct sheet_part *part, int column)
{
    int width = (int)strlen(sheet->form->columns[column].heading);
    struct text shown = {0};

    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row)) {
        show(sheet, row, column, &shown);
        if ((int)shown.length > width)
            width = (int)shown.length;
    }
    text_clear(&shown);
    return width;
}

/* Row -1 is that of the headings. No blanks at the end of a line. */
static void add_row(const struct sheet *sheet, const struct sheet_part *part, int row,
                    const int *widths, struct text *text)
{
    const struct sheet_form *form = sheet->form;
    struct text shown = {0};

    for (int column = 0; column < form->ncolumns; column++) {
        bool word = form->columns[column].kind == SHEET_WORD;
        bool last = part->columns >> column <= 1;

        if (!(part->columns >> column & 1))
            continue;
        if (row >= 0)
            show(sheet, row, column, &shown);
        text_add(text, "  ");
        add_padded(text, row < 0 ? form->columns[column].heading : shown.bytes ? shown.bytes : "",
                   word && last ? 0 : widths[column], !word);
    }
    text_add(text, "\n");
    text_clear(&shown);
}

static void add_rows(const struct sheet *sheet, const struct sheet_part *part, struct text *text)
{
    int widths[SHEET_MAX_COLUMNS] = {0};

    for (int column = 0; column < sheet->form->ncolumns; column++)
        widths[column] = find_width(sheet, part, column);
    add_row(sheet, part, -1, widths, text);
    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row))
        add_row(sheet, part, row, widths, text);
}

static void add_matrix(const struct sheet *sheet, const struct sheet_part *part,
                       struct text *text)
{
    const struct sheet_column *columns = sheet->form->columns;
    int down[MAX_KEYS], across[MAX_KEYS];
    int ndown = sheet_keys(sheet, part, part->down, down, MAX_KEYS);
    int nacross = sheet_keys(sheet, part, part->across, across, MAX_KEYS);
    struct text shown = {0};

    text_add(text, "  %s \\ %s", columns[part->down].heading, columns[part->across].heading);
    for (int j = 0; j < nacross; j++) {
        show(sheet, across[j], part->across, &shown);
        text_add(text, " %9s", shown.bytes);
    }
    text_add(text, "\n");
    for (int i = 0; i < ndown; i++) {
        show(sheet, down[i], part->down, &shown);
        text_add(text, "  %*s", (int)(strlen(columns[part->down].heading) +
                                      strlen(columns[part->across].heading) + 3),
                 shown.bytes);
        for (int j = 0; j < nacross; j++) {
            int row = sheet_find(sheet, part, part->down, down[i], part->across, across[j]);

            text_clear(&shown);
            if (row >= 0)
                show(sheet, row, part->value, &shown);
            text_add(text, " %9s", shown.bytes ? shown.bytes : "-");
        }
        text_add(text, "\n");
    }
    text_clear(&shown);
}

void sheet_print_table(const struct sheet *sheet, struct text *text)
{
    add_lines(text, "", sheet->machine.bytes);
    add_lines(text, "note: ", sheet->notes.bytes);
    for (int i = 0; i < sheet->form->nparts; i++) {
        const struct sheet_part *part = &sheet->form->parts[i];

        if (sheet_next(sheet, part, -1) < 0)
            continue;
        text_add(text, "\n%s%s%s\n", part->title, part->unit ? ", " : "",
                 part->unit ? part->unit : "");
        if (part->table == SHEET_MATRIX)
            add_matrix(sheet, part, text);
        else
            add_rows(sheet, part, text);
    }
    text->failed |= sheet->failed;
}

/* ---- comma-separated values; what is behind '#' is for people */

static void add_value(const struct sheet *sheet, int row, int column, struct text *text)
{
    enum sheet_kind kind = sheet->form->columns[column].kind;
    const struct sheet_cell *cell = sheet_cell(sheet, row, column);

    text_add(text, kind == SHEET_NUMBER ? "%.6g" : "%.0f", cell->number);
}

void sheet_print_csv(const struct sheet *sheet, struct text *text)
{
    const struct sheet_form *form = sheet->form;

    add_lines(text, "# ", sheet->machine.bytes);
    add_lines(text, "# note: ", sheet->notes.bytes);
    for (int column = 0; column < form->ncolumns; column++)
        text_add(text, "%s%s", column ? "," : "", form->columns[column].name);
    text_add(text, "\n");
    for (int row = 0; row < sheet->nrows; row++) {
        for (int column = 0; column < form->ncolumns; column++) {
            const struct sheet_cell *cell = sheet_cell(sheet, row, column);

            text_add(text, "%s", column ? "," : "");
            if (form->columns[column].kind == SHEET_WORD)
                text_add(text, strchr(cell->word, ',') ? "\"%s\"" : "%s", cell->word);
            else if (cell->there)
                add_value(sheet, row, column, text);
        }
        text_add(text, "\n");
    }
    text->failed |= sheet->failed;
}

/* ---- JSON */

static void add_array(struct text *text, const char *name, const char *lines)
{
    const char *between = "\n  ";

    text_add(text, "\"%s\": [", name);
    for (const char *at = lines ? lines : ""; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        struct text line = {0};

        text_add(&line, "%.*s", (int)strcspn(at, "\n"), at);
        text_add(text, "%s", between);
        text_add_json(text, line.bytes);
        text->failed |= line.failed;
        text_clear(&line);
        between = ",\n  ";
    }
    text_add(text, "],\n ");
}

static void add_json_row(const struct sheet *sheet, int row, struct text *text)
{
    const struct sheet_form *form = sheet->form;

    text_add(text, "%s\n  {", row ? "," : "");
    for (int column = 0; column < form->ncolumns; column++) {
        const struct sheet_cell *cell = sheet_cell(sheet, row, column);

        text_add(text, "%s\"%s\": ", column ? ", " : "", form->columns[column].name);
        if (form->columns[column].kind == SHEET_WORD)
            text_add_json(text, cell->word);
        else if (cell->there)
            add_value(sheet, row, column, text);
        else
            text_add(text, "null");
    }
    text_add(text, "}");
}

void sheet_print_json(const struct sheet *sheet, struct text *text)
{
    text_add(text, "{\"version\": \"%s\", \"subcommand\": \"%s\",\n ", PACKAGE_VERSION,
             sheet->form->subcommand);
    add_array(text, "machine", sheet->machine.bytes);
    add_array(text, "notes", sheet->notes.bytes);
    text_add(text, "\"results\": [");
    for (int row = 0; row < sheet->nrows; row++)
        add_json_row(sheet, row, text);
    text_add(text, "\n ]}\n");
    text->failed |= sheet->failed;
}
