#include "bench/output/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sheet_cell *cell_at(const struct sheet *sheet, int row, int column)
{
    return &sheet->cells[row * sheet->form->ncolumns + column];
}

void sheet_row(struct sheet *sheet)
{
    int ncolumns = sheet->form->ncolumns;

    if (sheet->nrows == sheet->size) {
        int size = sheet->size ? 2 * sheet->size : 64;
        void *cells =
            realloc(sheet->cells, (size_t)size * (size_t)ncolumns * sizeof *sheet->cells);

        if (!cells) {
            sheet->failed = true;
            return;
        }
        sheet->cells = cells;
        sheet->size = size;
    }
    memset(cell_at(sheet, sheet->nrows, 0), 0, (size_t)ncolumns * sizeof *sheet->cells);
    sheet->nrows++;
}

void sheet_word(struct sheet *sheet, int column, const char *word)
{
    struct sheet_cell *cell;

    if (sheet->failed)
        return;
    cell = cell_at(sheet, sheet->nrows - 1, column);
    cell->there = true;
    snprintf(cell->word, sizeof cell->word, "%s", word);
}

void sheet_number(struct sheet *sheet, int column, double number)
{
    struct sheet_cell *cell;

    if (sheet->failed)
        return;
    cell = cell_at(sheet, sheet->nrows - 1, column);
    cell->there = true;
    cell->number = number;
}

void sheet_clear(struct sheet *sheet)
{
    free(sheet->cells);
    text_clear(&sheet->machine);
    text_clear(&sheet->notes);
    memset(sheet, 0, sizeof *sheet);
}

const struct sheet_cell *sheet_cell(const struct sheet *sheet, int row, int column)
{
    return cell_at(sheet, row, column);
}

bool sheet_has(const struct sheet *sheet, const struct sheet_part *part, int row)
{
    for (int i = 0; i < 2; i++) {
        const char *word = part->where[i].word;

        if (word && strcmp(cell_at(sheet, row, part->where[i].column)->word, word) != 0)
            return false;
    }
    for (int column = 0; (part->filled | part->empty) >> column; column++)
        if (cell_at(sheet, row, column)->there ? part->empty >> column & 1
                                               : part->filled >> column & 1)
            return false;
    return true;
}

int sheet_next(const struct sheet *sheet, const struct sheet_part *part, int row)
{
    for (row++; row < sheet->nrows; row++)
        if (sheet_has(sheet, part, row))
            return row;
    return -1;
}

void print_size(struct text *text, size_t nbytes)
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

void sheet_show(const struct sheet *sheet, int row, int column, struct text *text)
{
    const struct sheet_cell *cell = cell_at(sheet, row, column);

    if (!cell->there) {
        text_add(text, "-");
        return;
    }
    switch (sheet->form->columns[column].kind) {
    case SHEET_WORD:
        text_add(text, "%s", cell->word);
        break;
    case SHEET_COUNT:
        text_add(text, "%.0f", cell->number);
        break;
    case SHEET_SIZE:
        print_size(text, (size_t)cell->number);
        break;
    case SHEET_NUMBER:
        show_number(cell->number, text);
        break;
    }
}

bool sheet_same(const struct sheet *sheet, int column, int row, int other)
{
    const struct sheet_cell *a = cell_at(sheet, row, column), *b = cell_at(sheet, other, column);

    return a->there == b->there && a->number == b->number && strcmp(a->word, b->word) == 0;
}

static double number_of(const struct sheet *sheet, int row, int column)
{
    return cell_at(sheet, row, column)->number;
}

int sheet_keys(const struct sheet *sheet, const struct sheet_part *part, int column, int *rows,
               int max)
{
    int n = 0;

    for (int row = sheet_next(sheet, part, -1); row >= 0; row = sheet_next(sheet, part, row)) {
        int i = 0;

        while (i < n && !sheet_same(sheet, column, rows[i], row))
            i++;
        if (i < n || n == max)
            continue;
        /* Numbers in their order; words, whose number is 0, as they come. */
        for (i = n++; i > 0 && number_of(sheet, rows[i - 1], column) >
                                   number_of(sheet, row, column); i--)
            rows[i] = rows[i - 1];
        rows[i] = row;
    }
    return n;
}

int sheet_find(const struct sheet *sheet, const struct sheet_part *part, int down, int row,
               int across, int other)
{
    int found = -1;

    while ((found = sheet_next(sheet, part, found)) >= 0)
        if (sheet_same(sheet, down, found, row) && sheet_same(sheet, across, found, other))
            return found;
    return -1;
}
