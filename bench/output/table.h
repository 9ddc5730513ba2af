/* What a subcommand has measured: rows of typed columns, and which of them a reader sees
 * as a table, a matrix or a picture. Forms are constant data; writers know no subcommand. */
#ifndef GPUBIND_BENCH_OUTPUT_TABLE_H
#define GPUBIND_BENCH_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

enum sheet_kind {
    SHEET_WORD,
    SHEET_COUNT, /* a whole number */
    SHEET_SIZE,  /* bytes, "64K" for people */
    SHEET_NUMBER
};

struct sheet_column {
    enum sheet_kind kind;
    const char *name;    /* in CSV and JSON, with its unit: GB_per_s */
    const char *heading; /* for people: GB/s */
};

/* How the rows of a part are printed and drawn. */
enum sheet_table { SHEET_ROWS, SHEET_MATRIX };
enum sheet_picture {
    SHEET_NO_PICTURE,
    SHEET_HEAT,  /* value by down and across */
    SHEET_LINES, /* value by across, a number; a line for each word of down */
    SHEET_BARS   /* value, named by the columns of names */
};

/* Some of the rows: those that have these words in these columns. */
struct sheet_part {
    const char *title; /* what is measured; the unit comes behind it */
    const char *unit;
    struct {
        int column;
        const char *word; /* NULL: any */
    } where[2];
    unsigned filled, empty; /* and something, or nothing, in these: bit 1 << column */
    enum sheet_table table;
    enum sheet_picture picture;
    unsigned columns; /* SHEET_ROWS: those that are shown, bit 1 << column */
    unsigned names;   /* SHEET_BARS */
    int value, down, across;
};

struct sheet_form {
    const char *subcommand;
    const struct sheet_column *columns;
    int ncolumns;
    const struct sheet_part *parts;
    int nparts;
};

#define SHEET_MAX_WORD 64
#define SHEET_MAX_COLUMNS 32 /* bits of struct sheet_part */

struct sheet_cell {
    bool there;
    double number;
    char word[SHEET_MAX_WORD];
};

/* Zero-initialised but for form: no rows. */
struct sheet {
    const struct sheet_form *form;
    struct sheet_cell *cells; /* nrows x form->ncolumns */
    int nrows, size;
    struct text machine; /* what was measured on: lines */
    struct text notes;   /* what a reader must know: sentences, a line each */
    bool wrong;          /* data arrived wrong, in the rows that say so */
    bool failed;         /* memory ran out: what it holds is not all */
};

/* Begins a row, whose cells are empty. What follows fills them; cells that stay empty
 * are null in JSON. */
void sheet_row(struct sheet *sheet);
void sheet_word(struct sheet *sheet, int column, const char *word);
void sheet_number(struct sheet *sheet, int column, double number);
void sheet_clear(struct sheet *sheet);

const struct sheet_cell *sheet_cell(const struct sheet *sheet, int row, int column);
bool sheet_has(const struct sheet *sheet, const struct sheet_part *part, int row);
/* The part's next row behind this one (-1: the first), or -1. */
int sheet_next(const struct sheet *sheet, const struct sheet_part *part, int row);
/* The cell for people: "64K", "391.2", "-" where it is empty. */
void sheet_show(const struct sheet *sheet, int row, int column, struct text *text);
/* The different contents of a column in a part, each as the first row that has it: words
 * in their order, numbers in theirs. Returns how many, max at most. */
int sheet_keys(const struct sheet *sheet, const struct sheet_part *part, int column, int *rows,
               int max);
bool sheet_same(const struct sheet *sheet, int column, int row, int other);
/* The row of the part that has what these rows have in these columns, or -1. */
int sheet_find(const struct sheet *sheet, const struct sheet_part *part, int down, int row,
               int across, int other);

/* "8", "64K", "1M". */
void print_size(struct text *text, size_t nbytes);

/* Writers: the whole sheet. */
void sheet_print_table(const struct sheet *sheet, struct text *text);
void sheet_print_csv(const struct sheet *sheet, struct text *text);
void sheet_print_json(const struct sheet *sheet, struct text *text);
/* An <svg> element with a picture for each part that has one; nothing without any. */
void sheet_draw(const struct sheet *sheet, struct text *text);

#endif
