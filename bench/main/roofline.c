#include "bench/main/roofline.h"

#include <stdio.h>
#include <string.h>

#include "bench/cases/halo_schema.h"
#include "bench/cases/host.h"
#include "bench/cases/p2p.h"
#include "bench/cases/peer_kernel_schema.h"
#include "bench/cases/put_schema.h"
#include "bench/pt2pt/pt2pt.h"

static const struct table_column columns[] = {
    [ROOFLINE_SUBCOMMAND] = {COLUMN_WORD, "subcommand", "subcommand"},
    [ROOFLINE_WHAT] = {COLUMN_WORD, "what", "what"},
    [ROOFLINE_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [ROOFLINE_CEILING] = {COLUMN_NUMBER, "ceiling_GB_per_s", "ceiling GB/s"},
    [ROOFLINE_PERCENT] = {COLUMN_NUMBER, "percent", "%"},
    [ROOFLINE_WHY] = {COLUMN_WORD, "ceiling", "ceiling"},
};

static const struct table_view views[] = {
    {.title = "measured, beside what the links and memories could do",
     .unit = "% of the ceiling",
     .columns = (1u << ROOFLINE_COLUMNS) - 1},
};

const struct table_schema roofline_schema = {"report", columns, ROOFLINE_COLUMNS, views, 1, 0};

/* Where the ceiling of a row comes from: a pair of GPUs, one GPU's memory or bus, a path between
 * ranks, another row. */
enum source { OF_PAIR, OF_MEMORY, OF_BUS, OF_NEXT, OF_PARTNER, OF_ALL, OF_ROW };

/* Of the rows of a view, selects the one furthest below its ceiling or, with best, the largest
 * value. */
struct rule {
    const char *subcommand, *what;
    struct table_view rows;
    enum source source;
    double times;    /* factor of the value: 2 if a copy reads and writes the memory */
    double ceilings; /* factor of the ceiling: 2 for both directions */
    int from, to;    /* columns that name the GPUs: two of OF_PAIR, one of OF_MEMORY */
    bool best;
    int most; /* only rows with the largest number in this column count; 0: all */
    /* OF_ROW: the row of this view with the same value in the column `same`. */
    struct table_view other;
    int same;
    const char *why;
};

#define ROWS(column1, word1, column2, word2)            \
    {                                                   \
        .where = { {column1, word1}, {column2, word2} } \
    }

/* clang-format off */
static const struct rule rules[] = {
    {.subcommand = "p2p", .what = "copies one way, fastest pair",
     .rows = ROWS(P2P_MEASURE, "one-way", P2P_ACCESS, "on"), .source = OF_PAIR, .times = 1,
     .ceilings = 1, .from = P2P_FROM, .to = P2P_TO, .best = true},
    {.subcommand = "p2p", .what = "copies one way, slowest pair",
     .rows = ROWS(P2P_MEASURE, "one-way", P2P_ACCESS, "on"), .source = OF_PAIR, .times = 1,
     .ceilings = 1, .from = P2P_FROM, .to = P2P_TO},
    {.subcommand = "p2p", .what = "copies both ways, slowest pair",
     .rows = ROWS(P2P_MEASURE, "both-ways", P2P_ACCESS, "on"), .source = OF_PAIR, .times = 1,
     .ceilings = 2, .from = P2P_FROM, .to = P2P_TO},
    {.subcommand = "p2p", .what = "memory of the slowest GPU",
     .rows = ROWS(P2P_MEASURE, "local", 0, NULL), .source = OF_MEMORY, .times = 2, .ceilings = 1,
     .from = P2P_FROM, .to = P2P_TO},
    {.subcommand = "peer-kernel", .what = "kernel in its GPU's memory",
     .rows = ROWS(PEER_PATTERN, "together", 0, NULL), .source = OF_MEMORY, .times = 1,
     .ceilings = 1, .from = PEER_KERNEL, .to = PEER_MEMORY},
    {.subcommand = "peer-kernel", .what = "kernel in another's, slowest pair",
     .rows = ROWS(PEER_PATTERN, "together", 0, NULL), .source = OF_PAIR, .times = 1,
     .ceilings = 2, .from = PEER_KERNEL, .to = PEER_MEMORY},
    {.subcommand = "host", .what = "up from page-locked memory",
     .rows = {.where = {{HOST_MEMORY, "page-locked"}, {HOST_WAY, "up"}}}, .source = OF_BUS,
     .times = 1, .ceilings = 1, .best = true},
    {.subcommand = "host", .what = "down to page-locked memory",
     .rows = {.where = {{HOST_MEMORY, "page-locked"}, {HOST_WAY, "down"}}}, .source = OF_BUS,
     .times = 1, .ceilings = 1, .best = true},
    {.subcommand = "host", .what = "all ranks up at once",
     .rows = ROWS(HOST_WAY, "up", HOST_WHEN, "all at once, sum"), .source = OF_ROW, .times = 1,
     .ceilings = 1, .other = ROWS(HOST_WAY, "up", HOST_WHEN, "alone, sum"), .same = HOST_WAY,
     .why = "the sum of the ranks alone"},
    {.subcommand = "host", .what = "all ranks down at once",
     .rows = ROWS(HOST_WAY, "down", HOST_WHEN, "all at once, sum"), .source = OF_ROW, .times = 1,
     .ceilings = 1, .other = ROWS(HOST_WAY, "down", HOST_WHEN, "alone, sum"), .same = HOST_WAY,
     .why = "the sum of the ranks alone"},
    {.subcommand = "host", .what = "up from a far NUMA node",
     .rows = ROWS(HOST_WAY, "up", HOST_NEAR, "far"), .source = OF_ROW, .times = 1, .ceilings = 1,
     .other = ROWS(HOST_WAY, "up", HOST_NEAR, "near"), .same = HOST_WAY, .why = "the near node"},
    {.subcommand = "host", .what = "down to a far NUMA node",
     .rows = ROWS(HOST_WAY, "down", HOST_NEAR, "far"), .source = OF_ROW, .times = 1, .ceilings = 1,
     .other = ROWS(HOST_WAY, "down", HOST_NEAR, "near"), .same = HOST_WAY, .why = "the near node"},
    {.subcommand = "pt2pt", .what = "messages, at their best size",
     .rows = ROWS(PT2PT_MEASURE, "bandwidth", PT2PT_METHOD, "gpubind"), .source = OF_PARTNER,
     .times = 1, .ceilings = 1, .best = true},
    {.subcommand = "pt2pt", .what = "messages beside a bare copy",
     .rows = ROWS(PT2PT_MEASURE, "bandwidth", PT2PT_METHOD, "gpubind"), .source = OF_ROW,
     .times = 1, .ceilings = 1, .best = true,
     .other = ROWS(PT2PT_MEASURE, "bandwidth", PT2PT_METHOD, "copy"), .same = PT2PT_BYTES,
     .why = "the bare copy of as many bytes"},
    {.subcommand = "pt2pt", .what = "messages beside a bare copy",
     .rows = ROWS(PT2PT_MEASURE, "bandwidth", PT2PT_METHOD, "gpubind"), .source = OF_ROW,
     .times = 1, .ceilings = 1, .best = true,
     .other = ROWS(PT2PT_MEASURE, "bandwidth", PT2PT_METHOD, "staged"), .same = PT2PT_BYTES,
     .why = "a copy through the host of as many bytes"},
    {.subcommand = "halo", .what = "all that rank 0 sends, best grid",
     .rows = ROWS(HALO_DATA, NULL, 0, NULL), .source = OF_ALL, .times = 1, .ceilings = 1,
     .best = true, .most = HALO_RANKS},
    {.subcommand = "put", .what = "put by kernels, best way",
     .rows = ROWS(PUT_WHAT, "put", 0, NULL), .source = OF_NEXT, .times = 1, .ceilings = 1,
     .best = true},
    {.subcommand = "put", .what = "get by kernels, best way",
     .rows = ROWS(PUT_WHAT, "get", 0, NULL), .source = OF_NEXT, .times = 1, .ceilings = 1,
     .best = true},
};
/* clang-format on */

/* GB/s of the row; every schema has a column of that name. */
static int value_column(const struct table *table)
{
    int column = 0;

    while (strcmp(table->schema->columns[column].name, "GB_per_s") != 0)
        column++;
    return column;
}

/* In bytes a second. */
static double value_of(const struct rule *rule, const struct table *table, int row)
{
    return 1e9 * rule->times * table_cell(table, row, value_column(table))->number;
}

static int gpu_at(const struct table *table, const struct peaks *peaks, int row, int column)
{
    int gpu = (int)table_cell(table, row, column)->number;

    return gpu >= 0 && gpu < peaks->n ? gpu : -1;
}

/* The row's ceiling, in bytes a second; 0: not known. */
static double find_ceiling(const struct rule *rule, const struct table *table,
                           const struct peaks *peaks, int row, const char **why)
{
    const struct peak *peak = NULL;
    int other, from, to;

    if (rule->source == OF_ROW) {
        other = view_find_row(table, &rule->other, rule->same, row, rule->same, row);
        *why = rule->why;
        return other < 0 ? 0 : 1e9 * table_cell(table, other, value_column(table))->number;
    }
    from = gpu_at(table, peaks, row, rule->from);
    to = gpu_at(table, peaks, row, rule->to);
    if (rule->source >= OF_NEXT)
        peak = rule->source == OF_NEXT      ? &peaks->next
               : rule->source == OF_PARTNER ? &peaks->partner
                                            : &peaks->all;
    else if (rule->source == OF_BUS && peaks->n)
        peak = &peaks->gpu[peaks->own].bus;
    else if (rule->source == OF_MEMORY && from >= 0)
        peak = &peaks->gpu[from].memory;
    else if (rule->source == OF_PAIR && from >= 0 && to >= 0)
        peak = &peaks->gpu[from].pair[to];
    *why = peak ? peak->why : "";
    return peak ? rule->ceilings * peak->bytes_per_s : 0;
}

/* "copies one way, slowest pair (0 to 1)" */
static void name_row(const struct rule *rule, const struct table *table, int row,
                     char name[TABLE_MAX_WORD])
{
    if (rule->source == OF_PAIR)
        snprintf(name, TABLE_MAX_WORD, "%.40s (%.0f to %.0f)", rule->what,
                 table_cell(table, row, rule->from)->number,
                 table_cell(table, row, rule->to)->number);
    else
        snprintf(name, TABLE_MAX_WORD, "%s", rule->what);
}

static void add_result(const struct rule *rule, const char *name, double value, double ceiling,
                       const char *why, struct table *roofline)
{
    table_add_row(roofline);
    table_set_word(roofline, ROOFLINE_SUBCOMMAND, rule->subcommand);
    table_set_word(roofline, ROOFLINE_WHAT, name);
    table_set_number(roofline, ROOFLINE_GB_PER_S, 1e-9 * value);
    if (ceiling > 0) {
        char text[TABLE_MAX_WORD];

        snprintf(text, sizeof text, "%s%.50s", rule->ceilings > 1 ? "2 x " : "", why);
        table_set_number(roofline, ROOFLINE_CEILING, 1e-9 * ceiling);
        table_set_number(roofline, ROOFLINE_PERCENT, 100 * value / ceiling);
        table_set_word(roofline, ROOFLINE_WHY, text);
    } else {
        table_set_word(roofline, ROOFLINE_WHY, "not known");
    }
}

/* Whether the rule applies to the row. */
static bool counts(const struct rule *rule, const struct table *table, int row)
{
    const double number = table_cell(table, row, rule->most)->number;

    if (rule->source == OF_PAIR || rule->source == OF_MEMORY)
        return (rule->source == OF_PAIR) == ((int)table_cell(table, row, rule->from)->number !=
                                             (int)table_cell(table, row, rule->to)->number);
    for (int other = 0; rule->most && other < table->nrows; other++)
        if (table_cell(table, other, rule->most)->number > number)
            return false;
    return true;
}

static void apply(const struct rule *rule, const struct table *table, const struct peaks *peaks,
                  struct table *roofline)
{
    const char *why = "";
    double worst = 0;
    int row = -1, chosen = -1;
    char name[TABLE_MAX_WORD];

    while ((row = view_next_row(table, &rule->rows, row)) >= 0) {
        double value = value_of(rule, table, row);
        double ceiling = find_ceiling(rule, table, peaks, row, &why);
        double rank = rule->best ? -value : ceiling > 0 ? value / ceiling : value;

        if (!counts(rule, table, row) || (rule->source == OF_ROW && ceiling <= 0) ||
            (chosen >= 0 && rank >= worst))
            continue;
        chosen = row;
        worst = rank;
    }
    if (chosen < 0)
        return;
    name_row(rule, table, chosen, name);
    add_result(rule, name, value_of(rule, table, chosen),
               find_ceiling(rule, table, peaks, chosen, &why), why, roofline);
}

void roofline_add(const struct table *table, const struct peaks *peaks, struct table *roofline)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].subcommand, table->schema->subcommand) == 0)
            apply(&rules[i], table, peaks, roofline);
}
