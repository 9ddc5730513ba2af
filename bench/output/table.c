#include "bench/output/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct table_cell *cell_at(const struct table *table, int row, int column)
{
    return &table->cells[row * table->schema->ncolumns + column];
}

void table_add_row(struct table *table)
{
    int ncolumns = table->schema->ncolumns;

    if (table->nrows == table->size) {
        int size = table->size ? 2 * table->size : 64;
        void *cells = realloc(table->cells, (size_t)size * (size_t)ncolumns * sizeof *table->cells);

        if (!cells) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->size = size;
    }
    memset(cell_at(table, table->nrows, 0), 0, (size_t)ncolumns * sizeof *table->cells);
    table->nrows++;
}

void table_set_word(struct table *table, int column, const char *word)
{
    struct table_cell *cell;

    if (table->failed)
        return;
    cell = cell_at(table, table->nrows - 1, column);
    cell->present = true;
    snprintf(cell->word, sizeof cell->word, "%s", word);
}

void table_set_number(struct table *table, int column, double number)
{
    struct table_cell *cell;

    if (table->failed)
        return;
    cell = cell_at(table, table->nrows - 1, column);
    cell->present = true;
    cell->number = number;
}

void table_clear(struct table *table)
{
    free(table->cells);
    text_clear(&table->machine);
    text_clear(&table->notes);
    text_clear(&table->start);
    text_clear(&table->properties);
    memset(table, 0, sizeof *table);
}

const struct table_cell *table_cell(const struct table *table, int row, int column)
{
    return cell_at(table, row, column);
}

bool view_has_row(const struct table *table, const struct table_view *view, int row)
{
    for (int i = 0; i < 2; i++) {
        const char *word = view->where[i].word;

        if (word && strcmp(cell_at(table, row, view->where[i].column)->word, word) != 0)
            return false;
    }
    for (int column = 0; (view->filled | view->empty) >> column; column++)
        if (cell_at(table, row, column)->present ? view->empty >> column & 1
                                                 : view->filled >> column & 1)
            return false;
    return true;
}

int view_next_row(const struct table *table, const struct table_view *view, int row)
{
    for (row++; row < table->nrows; row++)
        if (view_has_row(table, view, row))
            return row;
    return -1;
}

void text_add_size(struct text *text, size_t nbytes)
{
    static const char suffixes[] = "\0KMG";
    char suffix[2] = "";
    int i = 0;

    for (; i < 3 && nbytes >= 1024 && nbytes % 1024 == 0; i++)
        nbytes /= 1024;
    suffix[0] = suffixes[i];
    text_add(text, "%zu%s", nbytes, suffix);
}

static void show_number(double number, struct text *text)
{
    double size = number < 0 ? -number : number;
    int digits = size < 0.01 ? 6 : size < 10 ? 3 : size < 1000 ? 2 : size < 100000 ? 1 : 0;

    text_add(text, "%.*f", size > 0 ? digits : 0, number);
}

void table_format_cell(const struct table *table, int row, int column, struct text *text)
{
    const struct table_cell *cell = cell_at(table, row, column);

    if (!cell->present) {
        text_add(text, "-");
        return;
    }
    switch (table->schema->columns[column].kind) {
    case COLUMN_WORD:
        text_add(text, "%s", cell->word);
        break;
    case COLUMN_COUNT:
        text_add(text, "%.0f", cell->number);
        break;
    case COLUMN_SIZE:
        text_add_size(text, (size_t)cell->number);
        break;
    case COLUMN_NUMBER:
    case COLUMN_FIXED:
        show_number(cell->number, text);
        break;
    }
}

bool table_same_cell(const struct table *table, int column, int row, int other)
{
    const struct table_cell *a = cell_at(table, row, column), *b = cell_at(table, other, column);

    return a->present == b->present && a->number == b->number && strcmp(a->word, b->word) == 0;
}

static double number_of(const struct table *table, int row, int column)
{
    return cell_at(table, row, column)->number;
}

int view_keys(const struct table *table, const struct table_view *view, int column, int *rows,
              int max)
{
    int n = 0;

    for (int row = view_next_row(table, view, -1); row >= 0;
         row = view_next_row(table, view, row)) {
        int i = 0;

        while (i < n && !table_same_cell(table, column, rows[i], row))
            i++;
        if (i < n || n == max)
            continue;
        /* Numbers in ascending order; words, whose number is 0, in order of appearance. */
        for (i = n++;
             i > 0 && number_of(table, rows[i - 1], column) > number_of(table, row, column); i--)
            rows[i] = rows[i - 1];
        rows[i] = row;
    }
    return n;
}

int view_find_row(const struct table *table, const struct table_view *view, int down, int row,
                  int across, int other)
{
    int found = -1;

    while ((found = view_next_row(table, view, found)) >= 0)
        if (table_same_cell(table, down, found, row) &&
            table_same_cell(table, across, found, other))
            return found;
    return -1;
}
