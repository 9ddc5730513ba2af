/* Prints a table as text, comma-separated values and JSON. */
#include <stdio.h>
#include <string.h>

#include "bench/output/table.h"
#include "core/base/json.h"

#define MAX_KEYS 64
#define MAX_NUMBER 320

/* Adds each line of lines, after begin. */
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

/* Called twice for each cell: for the width of its column, and to print it. */
static void show(const struct table *table, int row, int column, struct text *shown)
{
    text_clear(shown);
    table_format_cell(table, row, column, shown);
    if (!shown->bytes)
        text_add(shown, "-");
}

/* Rows that are printed one by one do not know the later ones: room for most numbers. */
static int least_width(const struct table *table, int column)
{
    static const int widths[] = {[COLUMN_COUNT] = 7, [COLUMN_NUMBER] = 8, [COLUMN_FIXED] = 8};

    return table->one_by_one ? widths[table->schema->columns[column].kind] : 0;
}

static int find_width(const struct table *table, const struct table_view *view, int column)
{
    const int least = least_width(table, column);
    int width = (int)strlen(table->schema->columns[column].heading);
    struct text shown = {0};

    width = width < least ? least : width;

    for (int row = view_next_row(table, view, -1); row >= 0;
         row = view_next_row(table, view, row)) {
        show(table, row, column, &shown);
        if ((int)shown.length > width)
            width = (int)shown.length;
    }
    text_clear(&shown);
    return width;
}

/* Row -1 is the headings. Lines have no trailing blanks. */
static void add_row(const struct table *table, const struct table_view *view, int row,
                    const int *widths, struct text *text)
{
    const struct table_schema *schema = table->schema;
    struct text shown = {0};

    for (int column = 0; column < schema->ncolumns; column++) {
        bool word = schema->columns[column].kind == COLUMN_WORD;
        bool last = view->columns >> column <= 1;

        if (!(view->columns >> column & 1))
            continue;
        if (row >= 0)
            show(table, row, column, &shown);
        text_add(text, "  ");
        add_padded(text,
                   row < 0       ? schema->columns[column].heading
                   : shown.bytes ? shown.bytes
                                 : "",
                   word && last ? 0 : widths[column], !word);
    }
    text_add(text, "\n");
    text_clear(&shown);
}

/* first: the first of these rows of the view. The headings come before the first of all. */
static void add_rows(const struct table *table, const struct table_view *view, int first,
                     struct text *text)
{
    int widths[TABLE_MAX_COLUMNS] = {0};

    for (int column = 0; column < table->schema->ncolumns; column++)
        widths[column] = find_width(table, view, column);
    if (first == view_next_row(table, view, -1))
        add_row(table, view, -1, widths, text);
    for (int row = first; row >= 0; row = view_next_row(table, view, row))
        add_row(table, view, row, widths, text);
}

static void add_matrix(const struct table *table, const struct table_view *view, struct text *text)
{
    const struct table_column *columns = table->schema->columns;
    int down[MAX_KEYS], across[MAX_KEYS];
    int ndown = view_keys(table, view, view->down, down, MAX_KEYS);
    int nacross = view_keys(table, view, view->across, across, MAX_KEYS);
    struct text shown = {0};

    text_add(text, "  %s \\ %s", columns[view->down].heading, columns[view->across].heading);
    for (int j = 0; j < nacross; j++) {
        show(table, across[j], view->across, &shown);
        text_add(text, " %9s", shown.bytes);
    }
    text_add(text, "\n");
    for (int i = 0; i < ndown; i++) {
        show(table, down[i], view->down, &shown);
        text_add(
            text, "  %*s",
            (int)(strlen(columns[view->down].heading) + strlen(columns[view->across].heading) + 3),
            shown.bytes);
        for (int j = 0; j < nacross; j++) {
            int row = view_find_row(table, view, view->down, down[i], view->across, across[j]);

            text_clear(&shown);
            if (row >= 0)
                show(table, row, view->value, &shown);
            text_add(text, " %9s", shown.bytes ? shown.bytes : "-");
        }
        text_add(text, "\n");
    }
    text_clear(&shown);
}

static void print_text_head(const struct table *table, struct text *text)
{
    add_lines(text, "", table->machine.bytes);
    add_lines(text, "", table->start.bytes);
    add_lines(text, "note: ", table->notes.bytes);
}

static void print_text_rows(const struct table *table, int from, struct text *text)
{
    for (int i = 0; i < table->schema->nviews; i++) {
        const struct table_view *view = &table->schema->views[i];
        int first = view_next_row(table, view, from - 1);

        if (first < 0)
            continue;
        if (first == view_next_row(table, view, -1))
            text_add(text, "\n%s%s%s\n", view->title, view->unit ? ", " : "",
                     view->unit ? view->unit : "");
        if (view->layout == VIEW_MATRIX)
            add_matrix(table, view, text);
        else
            add_rows(table, view, first, text);
    }
    text->failed |= table->failed;
}

const struct table_format table_text = {print_text_head, print_text_rows};

/* ---- comma-separated values; lines with '#' are for people */

/* A cell's number as CSV and JSON have it. */
static const char *format_number(enum column_kind kind, double number, char text[MAX_NUMBER])
{
    if (kind == COLUMN_NUMBER)
        snprintf(text, MAX_NUMBER, "%.6g", number);
    else
        snprintf(text, MAX_NUMBER, "%.*f", kind == COLUMN_FIXED ? 3 : 0, number);
    return text;
}

static void print_csv_head(const struct table *table, struct text *text)
{
    const struct table_schema *schema = table->schema;

    add_lines(text, "# ", table->machine.bytes);
    add_lines(text, "# ", table->start.bytes);
    add_lines(text, "# note: ", table->notes.bytes);
    for (int column = 0; column < schema->ncolumns; column++)
        text_add(text, "%s%s", column ? "," : "", schema->columns[column].name);
    text_add(text, "\n");
}

static void print_csv_rows(const struct table *table, int from, struct text *text)
{
    const struct table_schema *schema = table->schema;

    for (int row = from; row < table->nrows; row++) {
        for (int column = 0; column < schema->ncolumns; column++) {
            const struct table_cell *cell = table_cell(table, row, column);
            enum column_kind kind = schema->columns[column].kind;
            char number[MAX_NUMBER];

            text_add(text, "%s", column ? "," : "");
            if (kind == COLUMN_WORD)
                text_add(text, strchr(cell->word, ',') ? "\"%s\"" : "%s", cell->word);
            else if (cell->present)
                text_add(text, "%s", format_number(kind, cell->number, number));
        }
        text_add(text, "\n");
    }
    text->failed |= table->failed;
}

const struct table_format table_csv = {print_csv_head, print_csv_rows};

/* ---- JSON */

static void add_json_row(const struct table *table, int row, struct json *json)
{
    json_newline(json, 2);
    json_open(json, NULL, '{');
    for (int i = 0; i < table->schema->ncolumns; i++) {
        const struct table_column *column = &table->schema->columns[i];
        const struct table_cell *cell = table_cell(table, row, i);
        char number[MAX_NUMBER];

        if (table->schema->csv_only & 1u << i)
            continue;
        if (column->kind == COLUMN_WORD)
            json_string(json, column->name, cell->word);
        else if (cell->present)
            json_value(json, column->name, "%s", format_number(column->kind, cell->number, number));
        else
            json_value(json, column->name, "null");
    }
    json_close(json, '}');
}

void table_add_json(const struct table *table, struct json *json)
{
    json_string(json, "version", PACKAGE_VERSION);
    json_string(json, "subcommand", table->schema->subcommand);
    json_newline(json, 1);
    json_lines(json, "machine", table->machine.bytes, 2);
    if (table->properties.length) {
        text_add(json->text, "%s", table->properties.bytes);
    } else {
        json_newline(json, 1);
        json_lines(json, "notes", table->notes.bytes, 2);
        json_newline(json, 1);
    }
    json_open(json, "results", '[');
    for (int row = 0; row < table->nrows; row++)
        add_json_row(table, row, json);
    json_newline(json, 1);
    json_close(json, ']');
    json->text->failed |= table->failed | table->properties.failed;
}

void table_print_json(const struct table *table, struct text *text)
{
    struct json json = {.text = text, .spaced = true};

    json_open(&json, NULL, '{');
    table_add_json(table, &json);
    json_close(&json, '}');
    text_add(text, "\n");
}
