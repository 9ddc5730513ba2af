#include "bench/cases/halo_schema.h"

#include <stdio.h>

static const struct table_column columns[] = {
    [HALO_CASE] = {COLUMN_WORD, "case", "grid, borders, neighbours"},
    [HALO_GRID] = {COLUMN_WORD, "grid", "grid"},
    [HALO_BORDERS] = {COLUMN_WORD, "borders", "borders"},
    [HALO_TURN] = {COLUMN_WORD, "neighbours", "neighbours"},
    [HALO_RANKS] = {COLUMN_COUNT, "ranks", "ranks"},
    [HALO_PLACES] = {COLUMN_WORD, "rank_grid", "rank grid"},
    [HALO_CELLS] = {COLUMN_WORD, "cells", "cells of a rank"},
    [HALO_WAY] = {COLUMN_WORD, "way", "way"},
    [HALO_BYTES] = {COLUMN_SIZE, "bytes", "bytes sent"},
    [HALO_TIMES] = {COLUMN_COUNT, "times", "times"},
    [HALO_US] = {COLUMN_NUMBER, "us", "us"},
    [HALO_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [HALO_DATA] = {COLUMN_WORD, "data", "data"},
};

#define WAY_PART(way_word, title_text)                                                         \
    {                                                                                          \
        .title = title_text, .unit = "us", .where = {{HALO_WAY, way_word}},                    \
        .columns = 1u << HALO_CASE | 1u << HALO_RANKS | 1u << HALO_PLACES | 1u << HALO_CELLS | \
                   1u << HALO_BYTES | 1u << HALO_TIMES | 1u << HALO_US | 1u << HALO_GB_PER_S | \
                   1u << HALO_DATA                                                             \
    }

static const struct table_view views[] = {
    WAY_PART("stream", "in a stream, slowest rank"),
    WAY_PART("graph", "in a captured graph, slowest rank"),
    WAY_PART("start, wait", "started and waited for by the host, slowest rank"),
};

const struct table_schema halo_schema = {
    "halo", columns, HALO_COLUMNS, views, sizeof views / sizeof views[0], 0};

/* "3 x 2" */
static void say_numbers(char word[TABLE_MAX_WORD], const int *numbers, int n)
{
    for (int i = 0, end = 0; i < n; i++)
        end += snprintf(word + end, TABLE_MAX_WORD - (size_t)end, "%s%d", i ? " x " : "",
                        numbers[i]);
}

void halo_add_row(struct table *table, const struct halo_row *row)
{
    const char *borders = row->meets ? "meet" : "open", *turn = row->in_turn ? "in turn" : "asked";
    char word[TABLE_MAX_WORD];

    table_add_row(table);
    snprintf(word, sizeof word, "%s, %s, %s", row->grid, borders, turn);
    table_set_word(table, HALO_CASE, word);
    table_set_word(table, HALO_GRID, row->grid);
    table_set_word(table, HALO_BORDERS, borders);
    table_set_word(table, HALO_TURN, turn);
    table_set_number(table, HALO_RANKS, row->nranks);
    say_numbers(word, row->places, row->ndims);
    table_set_word(table, HALO_PLACES, word);
    say_numbers(word, row->cells, row->ndims);
    table_set_word(table, HALO_CELLS, word);
    table_set_word(table, HALO_WAY, row->way);
    table_set_number(table, HALO_BYTES, row->bytes);
    table_set_number(table, HALO_TIMES, row->times);
    table_set_number(table, HALO_US, row->us);
    table_set_number(table, HALO_GB_PER_S, 1e-3 * row->bytes / row->us);
    table_set_word(table, HALO_DATA, row->wrong ? "wrong" : "right");
    table->wrong |= row->wrong;
}
