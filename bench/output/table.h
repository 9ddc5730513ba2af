/* What a subcommand has measured: rows of typed columns, and which of them a reader sees
 * as a table or a matrix. Schemas are constant data; writers know no subcommand. */
#ifndef GPUBIND_BENCH_OUTPUT_TABLE_H
#define GPUBIND_BENCH_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/json.h"
#include "core/base/text.h"

enum column_kind {
    COLUMN_WORD,
    COLUMN_COUNT, /* a whole number */
    COLUMN_SIZE,  /* bytes, "64K" for people */
    COLUMN_NUMBER,
    COLUMN_FIXED /* a number, in CSV and JSON with three decimals */
};

struct table_column {
    enum column_kind kind;
    const char *name;    /* in CSV and JSON, with its unit: GB_per_s */
    const char *heading; /* for people: GB/s */
    bool csv_only;       /* JSON has it in properties */
};

/* How the rows of a view are printed. */
enum view_layout { VIEW_ROWS, VIEW_MATRIX };

/* Some of the rows: those that have these words in these columns. */
struct table_view {
    const char *title; /* what is measured; the unit comes behind it */
    const char *unit;
    struct {
        int column;
        const char *word; /* NULL: any */
    } where[2];
    unsigned filled, empty; /* and something, or nothing, in these: bit 1 << column */
    enum view_layout layout;
    unsigned columns; /* VIEW_ROWS: those that are shown, bit 1 << column */
    int value, down, across; /* VIEW_MATRIX: value by down and across */
};

struct table_schema {
    const char *subcommand;
    const struct table_column *columns;
    int ncolumns;
    const struct table_view *views;
    int nviews;
};

#define TABLE_MAX_WORD    64
#define TABLE_MAX_COLUMNS 32 /* bits of struct table_view */

struct table_cell {
    bool present;
    double number;
    char word[TABLE_MAX_WORD];
};

/* Zero-initialised but for form: no rows. */
struct table {
    const struct table_schema *schema;
    struct table_cell *cells; /* nrows x schema->ncolumns */
    int nrows, size;
    struct text machine; /* what was measured on: lines */
    struct text notes;   /* what a reader must know: sentences, a line each */
    double start_ms;     /* MPI_Init, of the slowest rank */
    /* Of pt2pt, NULL otherwise: a line on the start, for tables and CSV; JSON members that stand
     * in place of the notes. */
    struct text start, properties;
    bool wrong;          /* data arrived wrong, in the rows that say so */
    bool failed;         /* memory ran out: what it holds is not all */
};

/* Begins a row, whose cells are empty. What follows fills them; cells that stay empty
 * are null in JSON. */
void table_add_row(struct table *table);
void table_set_word(struct table *table, int column, const char *word);
void table_set_number(struct table *table, int column, double number);
void table_clear(struct table *table);

const struct table_cell *table_cell(const struct table *table, int row, int column);
bool view_has_row(const struct table *table, const struct table_view *view, int row);
/* The part's next row behind this one (-1: the first), or -1. */
int view_next_row(const struct table *table, const struct table_view *view, int row);
/* The cell for people: "64K", "391.2", "-" where it is empty. */
void table_format_cell(const struct table *table, int row, int column, struct text *text);
/* The different contents of a column in a part, each as the first row that has it: words
 * in their order, numbers in theirs. Returns how many, max at most. */
int view_keys(const struct table *table, const struct table_view *view, int column, int *rows,
              int max);
bool table_same_cell(const struct table *table, int column, int row, int other);
/* The row of the part that has what these rows have in these columns, or -1. */
int view_find_row(const struct table *table, const struct table_view *view, int down, int row,
                  int across, int other);

/* "8", "64K", "1M". */
void text_add_size(struct text *text, size_t nbytes);

/* Writers: the whole table. */
void table_print_text(const struct table *table, struct text *text);
void table_print_csv(const struct table *table, struct text *text);
void table_print_json(const struct table *table, struct text *text);
/* The members of the JSON object, which the caller opens and closes. */
void table_add_json(const struct table *table, struct json *json);

#endif
