/* The results of a subcommand: rows of typed columns, and views that select rows to be printed
 * as a list or a matrix. Schemas are constant data; the writers know no subcommand. */
#ifndef GPUBIND_BENCH_OUTPUT_TABLE_H
#define GPUBIND_BENCH_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/json.h"
#include "core/base/text.h"

enum column_kind {
    COLUMN_WORD,
    COLUMN_COUNT, /* a whole number */
    COLUMN_SIZE,  /* bytes, "64K" in tables */
    COLUMN_NUMBER,
    COLUMN_FIXED /* a number, in CSV and JSON with three decimals */
};

struct table_column {
    enum column_kind kind;
    const char *name;    /* in CSV and JSON, with its unit: GB_per_s */
    const char *heading; /* in tables: GB/s */
};

/* How the rows of a view are printed. */
enum view_layout { VIEW_ROWS, VIEW_MATRIX };

/* A selection of the rows: those that have these words in these columns. */
struct table_view {
    const char *title; /* what is measured; printed with the unit */
    const char *unit;
    struct {
        int column;
        const char *word; /* NULL: any */
    } where[2];
    unsigned filled, empty; /* and a value, or no value, in these: bit 1 << column */
    enum view_layout layout;
    unsigned columns;        /* VIEW_ROWS: the columns shown, bit 1 << column */
    int value, down, across; /* VIEW_MATRIX: value by down and across */
};

struct table_schema {
    const char *subcommand;
    const struct table_column *columns;
    int ncolumns;
    const struct table_view *views;
    int nviews;
    unsigned csv_only; /* 1 << COLUMN of those that JSON has in properties */
};

#define TABLE_MAX_WORD 64
#define TABLE_MAX_COLUMNS 32 /* bits of struct table_view */

struct table_cell {
    bool present;
    double number;
    char word[TABLE_MAX_WORD];
};

/* Zero-initialised except for schema: no rows. */
struct table {
    const struct table_schema *schema;
    struct table_cell *cells; /* nrows x schema->ncolumns */
    int nrows, size;
    struct text machine; /* lines that describe the machine */
    struct text notes;   /* for the reader, one a line */
    double start_ms;     /* MPI_Init, of the slowest rank */
    /* Set by pt2pt alone. start: a line on the start, printed in text and CSV. properties: JSON
     * members printed in place of the notes, with a comma before each. */
    struct text start, properties;
    bool wrong;  /* data arrived wrong, in rows that are marked */
    bool failed; /* out of memory: rows are missing */
    /* Of output_rows. streams: rows may be printed as they are added, in views without a matrix;
     * one_by_one: they are. */
    bool streams, one_by_one, begun, unwritable;
    int nprinted;
};

/* Appends a row of empty cells, which the setters below fill. Empty cells are null in JSON. */
void table_add_row(struct table *table);
void table_set_word(struct table *table, int column, const char *word);
void table_set_number(struct table *table, int column, double number);
void table_clear(struct table *table);

const struct table_cell *table_cell(const struct table *table, int row, int column);
bool view_has_row(const struct table *table, const struct table_view *view, int row);
/* The next row of the view after this one (-1: the first), or -1. */
int view_next_row(const struct table *table, const struct table_view *view, int row);
/* Adds the cell as in tables: "64K", "391.2", "-" if empty. */
void table_format_cell(const struct table *table, int row, int column, struct text *text);
/* The distinct values of a column in a view, each as the first row that has it: words in order of
 * appearance, numbers ascending. Returns how many, max at most. */
int view_keys(const struct table *table, const struct table_view *view, int column, int *rows,
              int max);
bool table_same_cell(const struct table *table, int column, int row, int other);
/* The row of the view whose column `down` equals that of `row` and whose column `across` equals
 * that of `other`, or -1. */
int view_find_row(const struct table *table, const struct table_view *view, int down, int row,
                  int across, int other);

/* "8", "64K", "1M". */
void text_add_size(struct text *text, size_t nbytes);

/* Writers. head: what comes before the rows; rows: this row and those after it. */
struct table_format {
    void (*head)(const struct table *table, struct text *text);
    void (*rows)(const struct table *table, int from, struct text *text);
};
extern const struct table_format table_text, table_csv;
/* The whole table. */
void table_print_json(const struct table *table, struct text *text);
/* The members of the JSON object, which the caller opens and closes. */
void table_add_json(const struct table *table, struct json *json);

#endif
