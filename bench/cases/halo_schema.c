#include "bench/cases/halo_schema.h"

#include <stdio.h>

static const struct sheet_column columns[] = {
    [HALO_CASE] = {SHEET_WORD, "case", "grid, borders, neighbours"},
    [HALO_GRID] = {SHEET_WORD, "grid", "grid"},
    [HALO_BORDERS] = {SHEET_WORD, "borders", "borders"},
    [HALO_TURN] = {SHEET_WORD, "neighbours", "neighbours"},
    [HALO_RANKS] = {SHEET_COUNT, "ranks", "ranks"},
    [HALO_PLACES] = {SHEET_WORD, "rank_grid", "rank grid"},
    [HALO_CELLS] = {SHEET_WORD, "cells", "cells of a rank"},
    [HALO_WAY] = {SHEET_WORD, "way", "way"},
    [HALO_BYTES] = {SHEET_SIZE, "bytes", "bytes sent"},
    [HALO_TIMES] = {SHEET_COUNT, "times", "times"},
    [HALO_US] = {SHEET_NUMBER, "us", "us"},
    [HALO_GB_PER_S] = {SHEET_NUMBER, "GB_per_s", "GB/s"},
    [HALO_DATA] = {SHEET_WORD, "data", "data"},
};

#define WAY_PART(way_word, title_text)                                                       \
    {                                                                                        \
        .title = title_text, .unit = "us", .where = {{HALO_WAY, way_word}},                  \
        .picture = SHEET_HEAT, .value = HALO_US, .down = HALO_CASE, .across = HALO_RANKS,    \
        .columns = 1u << HALO_CASE | 1u << HALO_RANKS | 1u << HALO_PLACES | 1u << HALO_CELLS | \
                   1u << HALO_BYTES | 1u << HALO_TIMES | 1u << HALO_US | 1u << HALO_GB_PER_S | \
                   1u << HALO_DATA                                                           \
    }

static const struct sheet_part parts[] = {
    WAY_PART("stream", "in a stream, slowest rank"),
    WAY_PART("graph", "in a captured graph, slowest rank"),
    WAY_PART("start, wait", "started and waited for by the host, slowest rank"),
};

const struct sheet_form halo_form = {"halo", columns, HALO_COLUMNS, parts,
                                     sizeof parts / sizeof parts[0]};

/* "3 x 2" */
static void say_numbers(char word[SHEET_MAX_WORD], const int *numbers, int n)
{
    for (int i = 0, end = 0; i < n; i++)
        end += snprintf(word + end, SHEET_MAX_WORD - (size_t)end, "%s%d", i ? " x " : "",
                        numbers[i]);
}

void halo_sheet_add(struct sheet *sheet, const struct halo_row *row)
{
    const char *borders = row->meets ? "meet" : "open", *turn = row->in_turn ? "in turn" : "asked";
    char word[SHEET_MAX_WORD];

    sheet_row(sheet);
    snprintf(word, sizeof word, "%s, %s, %s", row->grid, borders, turn);
    sheet_word(sheet, HALO_CASE, word);
    sheet_word(sheet, HALO_GRID, row->grid);
    sheet_word(sheet, HALO_BORDERS, borders);
    sheet_word(sheet, HALO_TURN, turn);
    sheet_number(sheet, HALO_RANKS, row->nranks);
    say_numbers(word, row->places, row->ndims);
    sheet_word(sheet, HALO_PLACES, word);
    say_numbers(word, row->cells, row->ndims);
    sheet_word(sheet, HALO_CELLS, word);
    sheet_word(sheet, HALO_WAY, row->way);
    sheet_number(sheet, HALO_BYTES, row->bytes);
    sheet_number(sheet, HALO_TIMES, row->times);
    sheet_number(sheet, HALO_US, row->us);
    sheet_number(sheet, HALO_GB_PER_S, 1e-3 * row->bytes / row->us);
    sheet_word(sheet, HALO_DATA, row->wrong ? "wrong" : "right");
    sheet->wrong |= row->wrong;
}
