#include "bench/cases/put_schema.h"

#include <string.h>

#include "bench/lib/kernels.h"

#define NEARLY 0.95

static const struct sheet_column columns[PUT_COLUMNS] = {
    [PUT_WHAT] = {SHEET_WORD, "what", "what"},
    [PUT_BY] = {SHEET_WORD, "by", "by"},
    [PUT_BLOCKS] = {SHEET_COUNT, "blocks", "blocks"},
    [PUT_WARPS] = {SHEET_COUNT, "warps", "warps"},
    [PUT_GB_PER_S] = {SHEET_NUMBER, "GB_per_s", "GB/s"},
    [PUT_US] = {SHEET_NUMBER, "us", "us"},
    [PUT_DATA] = {SHEET_WORD, "data", "data"},
};

static const char *const by_words[BY_KINDS] = {"thread", "warp", "block", "bulk"};
static const char *const ping_words[PINGS] = {"signal", "put_signal", "relaxed"};

/* Warps of a block downwards, blocks to the right. */
#define MOVES(what_word, by_word, title_text)                                          \
    {                                                                                  \
        .title = title_text, .unit = "GB/s",                                           \
        .where = {{PUT_WHAT, what_word}, {PUT_BY, by_word}}, .table = SHEET_MATRIX,            \
        .picture = SHEET_HEAT, .value = PUT_GB_PER_S, .down = PUT_WARPS, .across = PUT_BLOCKS         \
    }

static const struct sheet_part parts[] = {
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
     .table = SHEET_ROWS,
     .picture = SHEET_BARS,
     .names = 1u << PUT_WHAT,
     .columns = 1 << PUT_WHAT | 1 << PUT_US | 1 << PUT_DATA,
     .value = PUT_US},
};

const struct sheet_form put_form = {"put", columns, PUT_COLUMNS, parts,
                                    sizeof parts / sizeof parts[0]};

const char *put_sheet_by(int by)
{
    return by_words[by];
}

void put_sheet_move(struct sheet *sheet, bool put, int by, int blocks, int warps,
                    double gb_per_s, bool wrong)
{
    sheet_row(sheet);
    sheet_word(sheet, PUT_WHAT, put ? "put" : "get");
    sheet_word(sheet, PUT_BY, by_words[by]);
    sheet_number(sheet, PUT_BLOCKS, blocks);
    sheet_number(sheet, PUT_WARPS, warps);
    sheet_number(sheet, PUT_GB_PER_S, gb_per_s);
    sheet_word(sheet, PUT_DATA, wrong ? "wrong" : "right");
    if (wrong)
        text_add(&sheet->notes, "%s by %s, %d blocks of %d warps: data arrived wrong\n",
                 put ? "put" : "get", by_words[by], blocks, warps);
}

void put_sheet_ping(struct sheet *sheet, int how, double us, bool wrong)
{
    sheet_row(sheet);
    sheet_word(sheet, PUT_WHAT, ping_words[how]);
    sheet_word(sheet, PUT_BY, "ping");
    sheet_number(sheet, PUT_US, us);
    sheet_word(sheet, PUT_DATA, wrong ? "wrong" : how == PING_PUT_SIGNAL ? "right" : "none");
}

/* A row of these moves, or not. */
static bool is_of(const struct sheet *sheet, int row, bool put, int by)
{
    return strcmp(sheet_cell(sheet, row, PUT_WHAT)->word, put ? "put" : "get") == 0 &&
           strcmp(sheet_cell(sheet, row, PUT_BY)->word, by_words[by]) == 0;
}

void put_sheet_enough(struct sheet *sheet, bool put, int by)
{
    double best = 0;

    if (sheet->failed)
        return;
    for (int row = 0; row < sheet->nrows; row++)
        if (is_of(sheet, row, put, by) && sheet_cell(sheet, row, PUT_GB_PER_S)->number > best)
            best = sheet_cell(sheet, row, PUT_GB_PER_S)->number;
    /* Rows come with growing numbers of blocks. */
    for (int row = 0; row < sheet->nrows; row++) {
        const double speed = sheet_cell(sheet, row, PUT_GB_PER_S)->number;

        if (!is_of(sheet, row, put, by) || speed < NEARLY * best)
            continue;
        text_add(&sheet->notes, "%s by %s: 95 %% of the best, %.0f GB/s, takes %.0f block%s (of "
                 "%.0f warp%s: %.0f GB/s)\n", put ? "put" : "get", by_words[by], best,
                 sheet_cell(sheet, row, PUT_BLOCKS)->number,
                 sheet_cell(sheet, row, PUT_BLOCKS)->number == 1 ? "" : "s",
                 sheet_cell(sheet, row, PUT_WARPS)->number,
                 sheet_cell(sheet, row, PUT_WARPS)->number == 1 ? "" : "s", speed);
        return;
    }
}
