/* The table of gpubind-bench's subcommands, as text, CSV and JSON, byte for byte. */
#include <stdio.h>

#include "bench/output/table.h"
#include "tests/tap.h"

enum { WHAT, PAIRS, BYTES, TIMES, US, SPEED, COLUMNS };
static const struct table_column columns[] = {
    [WHAT] = {COLUMN_WORD, "what", "what"},   [PAIRS] = {COLUMN_COUNT, "pairs", "pairs"},
    [BYTES] = {COLUMN_SIZE, "bytes", "size"}, [TIMES] = {COLUMN_COUNT, "times", "times"},
    [US] = {COLUMN_FIXED, "us", "us"},        [SPEED] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
};
static const struct table_view views[] = {
    {.title = "all",
     .unit = "us",
     .columns = 1u << WHAT | 1u << BYTES | 1u << TIMES | 1u << US | 1u << SPEED},
    {.title = "by size",
     .filled = 1u << SPEED,
     .layout = VIEW_MATRIX,
     .value = SPEED,
     .down = WHAT,
     .across = BYTES},
    {.title = "none", .where = {{WHAT, "nothing"}}, .columns = 1u << WHAT},
};
static const struct table_schema schema = {"sub", columns, COLUMNS, views, 3, 1u << PAIRS};

static void add(struct table *table, const char *what, double nbytes, double us, double speed)
{
    table_add_row(table);
    table_set_word(table, WHAT, what);
    table_set_number(table, PAIRS, 2);
    table_set_number(table, BYTES, nbytes);
    table_set_number(table, TIMES, 123456789);
    table_set_number(table, US, us);
    if (speed > 0)
        table_set_number(table, SPEED, speed);
}

static void record(struct table *table)
{
    text_add(&table->machine, "a \"machine\"\n1 GPU\n");
    add(table, "one", 65536, 1.23456, 12.3456789);
    add(table, "two, both", 1000, 1234.5, 0);
    add(table, "one", 1000, 0.5, 1e-7);
}

static void print_text(const struct table *table, struct text *text)
{
    table_text.head(table, text);
    table_text.rows(table, 0, text);
}

static void print_csv(const struct table *table, struct text *text)
{
    table_csv.head(table, text);
    table_csv.rows(table, 0, text);
}

static void prints(void (*print)(const struct table *, struct text *), const struct table *table,
                   const char *wanted, const char *description)
{
    struct text text = {0};

    print(table, &text);
    tap_is(text.bytes, wanted, description);
    text_clear(&text);
}

/* What comes after the first two rows. */
static void print_later_rows(const struct table *table, struct text *text)
{
    table_csv.rows(table, 2, text);
    table_text.rows(table, 2, text);
}

static const char *const csv_rows = "what,pairs,bytes,times,us,GB_per_s\n"
                                    "one,2,65536,123456789,1.235,12.3457\n"
                                    "\"two, both\",2,1000,123456789,1234.500,\n"
                                    "one,2,1000,123456789,0.500,1e-07\n";
#define JSON_ROWS                                                                           \
    "\"results\": [\n"                                                                      \
    "  {\"what\": \"one\", \"bytes\": 65536, \"times\": 123456789, \"us\": 1.235, "         \
    "\"GB_per_s\": 12.3457},\n"                                                             \
    "  {\"what\": \"two, both\", \"bytes\": 1000, \"times\": 123456789, \"us\": 1234.500, " \
    "\"GB_per_s\": null},\n"                                                                \
    "  {\"what\": \"one\", \"bytes\": 1000, \"times\": 123456789, \"us\": 0.500, "          \
    "\"GB_per_s\": 1e-07}\n ]}\n"

static void check_notes(void)
{
    struct table table = {.schema = &schema};
    char wanted[1024];

    record(&table);
    text_add(&table.notes, "a note\n");
    snprintf(wanted, sizeof wanted, "# a \"machine\"\n# 1 GPU\n# note: a note\n%s", csv_rows);
    prints(print_csv, &table, wanted, "CSV: notes, a word with a comma, an empty cell");
    prints(table_print_json, &table,
           "{\"version\": \"" PACKAGE_VERSION "\", \"subcommand\": \"sub\",\n"
           " \"machine\": [\n  \"a \\\"machine\\\"\",\n  \"1 GPU\"],\n"
           " \"notes\": [\n  \"a note\"],\n " JSON_ROWS,
           "JSON: subcommand, notes, no column of CSV alone");
    prints(print_text, &table,
           "a \"machine\"\n1 GPU\nnote: a note\n"
           "\nall, us\n"
           "  what       size      times      us      GB/s\n"
           "  one         64K  123456789   1.235     12.35\n"
           "  two, both  1000  123456789  1234.5         -\n"
           "  one        1000  123456789   0.500  0.000000\n"
           "\nby size\n"
           "  what \\ size      1000       64K\n"
           "          one  0.000000     12.35\n",
           "text: rows, a matrix, no view without rows");
    table_clear(&table);
}

static void check_streams(void)
{
    static const struct table_schema list = {"sub", columns, COLUMNS, views, 1, 0};
    struct table table = {.schema = &list};

    record(&table);
    prints(print_later_rows, &table,
           "one,2,1000,123456789,0.500,1e-07\n"
           "  one        1000  123456789   0.500  0.000000\n",
           "later rows: neither names of columns nor headings");
    table_clear(&table);
}

static void check_properties(void)
{
    struct table table = {.schema = &schema};
    char wanted[1024];

    record(&table);
    text_add(&table.start, "start: 1 ms\n");
    text_add(&table.properties, ",\n \"pairs\": 2");
    snprintf(wanted, sizeof wanted, "# a \"machine\"\n# 1 GPU\n# start: 1 ms\n%s", csv_rows);
    prints(print_csv, &table, wanted, "CSV: the start");
    prints(table_print_json, &table,
           "{\"version\": \"" PACKAGE_VERSION "\", \"subcommand\": \"sub\",\n"
           " \"machine\": [\n  \"a \\\"machine\\\"\",\n  \"1 GPU\"],\n \"pairs\": 2, " JSON_ROWS,
           "JSON: properties in place of notes");
    table_clear(&table);
}

int main(void)
{
    struct table empty = {.schema = &schema};

    check_notes();
    check_properties();
    check_streams();
    prints(table_print_json, &empty,
           "{\"version\": \"" PACKAGE_VERSION "\", \"subcommand\": \"sub\",\n"
           " \"machine\": [],\n \"notes\": [],\n \"results\": [\n ]}\n",
           "JSON without rows");
    return tap_done();
}
