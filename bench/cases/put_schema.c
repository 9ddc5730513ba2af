#include "bench/cases/put_schema.h"

#include <string.h>

#include "bench/lib/kernels.h"

#define NEARLY 0.95

static const struct table_column columns[PUT_COLUMNS] = {
    [PUT_WHAT] = {COLUMN_WORD, "what", "what"},
    [PUT_BY] = {COLUMN_WORD, "by", "by"},
    [PUT_BLOCKS] = {COLUMN_COUNT, "blocks", "blocks"},
    [PUT_WARPS] = {COLUMN_COUNT, "warps", "warps"},
    [PUT_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [PUT_US] = {COLUMN_NUMBER, "us", "us"},
    [PUT_DATA] = {COLUMN_WORD, "data", "data"},
};

static const char *const by_words[BY_KINDS] = {"thread", "warp", "block", "bulk"};
static const char *const ping_words[PINGS] = {"signal", "put_signal", "relaxed"};

/* Rows by warps of a block, columns by blocks. */
#define MOVES(what_word, by_word, title_text)                                                     \
    {                                                                                             \
        .title = title_text, .unit = "GB/s", .where = {{PUT_WHAT, what_word}, {PUT_BY, by_word}}, \
        .layout = VIEW_MATRIX, .value = PUT_GB_PER_S, .down = PUT_WARPS, .across = PUT_BLOCKS     \
    }

static const struct table_view views[] = {
    MOVES("put", "thread", "put, each thread 16 bytes at a time"),
    MOVES("put", "warp", "put by warps"),
    MOVES("put", "block", "put by blocks"),
    MOVES("put", "bulk", "put by bulk copies"),
    MOVES("get", "thread", "get, each thread 16 bytes at a time"),
    MOVES("get", "warp", "get by warps"),
    MOVES("get", "block", "get by blocks"),
    MOVES("get", "bulk", "get by bulk copies"),
    {.title = "half a round trip of signals between two kernels of one thread",
     .unit = "us",
     .where = {{PUT_BY, "ping"}, {PUT_WHAT, NULL}},
     .layout = VIEW_ROWS,
     .columns = 1 << PUT_WHAT | 1 << PUT_US | 1 << PUT_DATA},
};

const struct table_schema put_schema = {
    "put", columns, PUT_COLUMNS, views, sizeof views / sizeof views[0], 0};

const char *put_by_word(int by)
{
    return by_words[by];
}

void put_add_move(struct table *table, bool put, int by, int blocks, int warps, double gb_per_s,
                  bool wrong)
{
    table_add_row(table);
    table_set_word(table, PUT_WHAT, put ? "put" : "get");
    table_set_word(table, PUT_BY, by_words[by]);
    table_set_number(table, PUT_BLOCKS, blocks);
    table_set_number(table, PUT_WARPS, warps);
    table_set_number(table, PUT_GB_PER_S, gb_per_s);
    table_set_word(table, PUT_DATA, wrong ? "wrong" : "right");
    if (wrong)
        text_add(&table->notes, "%s by %s, %d blocks of %d warps: data arrived wrong\n",
                 put ? "put" : "get", by_words[by], blocks, warps);
}

void put_add_ping(struct table *table, int how, double us, bool wrong)
{
    table_add_row(table);
    table_set_word(table, PUT_WHAT, ping_words[how]);
    table_set_word(table, PUT_BY, "ping");
    table_set_number(table, PUT_US, us);
    table_set_word(table, PUT_DATA, wrong ? "wrong" : how == PING_PUT_SIGNAL ? "right" : "none");
}

/* Whether the row is of these moves. */
static bool is_of(const struct table *table, int row, bool put, int by)
{
    return strcmp(table_cell(table, row, PUT_WHAT)->word, put ? "put" : "get") == 0 &&
           strcmp(table_cell(table, row, PUT_BY)->word, by_words[by]) == 0;
}

void put_note_enough(struct table *table, bool put, int by)
{
    double best = 0;

    if (table->failed)
        return;
    for (int row = 0; row < table->nrows; row++)
        if (is_of(table, row, put, by) && table_cell(table, row, PUT_GB_PER_S)->number > best)
            best = table_cell(table, row, PUT_GB_PER_S)->number;
    /* Rows are in ascending order of blocks. */
    for (int row = 0; row < table->nrows; row++) {
        const double speed = table_cell(table, row, PUT_GB_PER_S)->number;

        if (!is_of(table, row, put, by) || speed < NEARLY * best)
            continue;
        text_add(&table->notes,
                 "%s by %s: 95 %% of the best, %.0f GB/s, takes %.0f block%s (of "
                 "%.0f warp%s: %.0f GB/s)\n",
                 put ? "put" : "get", by_words[by], best,
                 table_cell(table, row, PUT_BLOCKS)->number,
                 table_cell(table, row, PUT_BLOCKS)->number == 1 ? "" : "s",
                 table_cell(table, row, PUT_WARPS)->number,
                 table_cell(table, row, PUT_WARPS)->number == 1 ? "" : "s", speed);
        return;
    }
}
