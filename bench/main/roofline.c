#include "bench/main/roofline.h"

#include <stdio.h>
#include <string.h>

#include "bench/cases/halo_schema.h"
#include "bench/cases/host.h"
#include "bench/cases/p2p.h"
#include "bench/cases/peer_kernel_schema.h"
#include "bench/cases/put_schema.h"
#include "bench/pt2pt/pt2pt.h"

static const struct sheet_column columns[] = {
    [VERDICT_SECTION] = {SHEET_WORD, "subcommand", "subcommand"},
    [VERDICT_WHAT] = {SHEET_WORD, "what", "what"},
    [VERDICT_GB_PER_S] = {SHEET_NUMBER, "GB_per_s", "GB/s"},
    [VERDICT_CEILING] = {SHEET_NUMBER, "ceiling_GB_per_s", "ceiling GB/s"},
    [VERDICT_PERCENT] = {SHEET_NUMBER, "percent", "%"},
    [VERDICT_WHY] = {SHEET_WORD, "ceiling", "ceiling"},
};

static const struct sheet_part parts[] = {
    {.title = "measured, beside what the links and memories could do",
     .picture = SHEET_BARS,
     .unit = "% of the ceiling",
     .columns = (1u << VERDICT_COLUMNS) - 1,
     .names = 1u << VERDICT_WHAT,
     .value = VERDICT_PERCENT},
};

const struct sheet_form verdict_form = {"report", columns, VERDICT_COLUMNS, parts, 1};

/* Where the ceiling of a row comes from: a pair of GPUs, one GPU's memory or bus, a way
 * between ranks, another row. */
enum source { OF_PAIR, OF_MEMORY, OF_BUS, OF_NEXT, OF_PARTNER, OF_ALL, OF_ROW };

/* Of the rows that a part would show, the one that is furthest below its ceiling, or for
 * best that with the largest value. */
struct rule {
    const char *subcommand, *what;
    struct sheet_part rows;
    enum source source;
    double times;      /* the value counts as often */
    double ceilings;   /* as many ceilings at once: 2 for both ways */
    int from, to;      /* columns that name the GPUs: two of OF_PAIR, one of OF_MEMORY */
    bool best;
    int most;          /* a column of which only rows with the largest number count; or 0 */
    /* OF_ROW: another row of the sheet, with the same contents of the column same. */
    struct sheet_part other;
    int same;
    const char *why;
};

#define ROWS(column1, word1, column2, word2)                     \
    {                                                            \
        .where = {{column1, word1}, {column2, word2}}            \
    }

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

/* GB/s of the row; every form has a column of that name. */
static int value_column(const struct sheet *sheet)
{
    int column = 0;

    while (strcmp(sheet->form->columns[column].name, "GB_per_s") != 0)
        column++;
    return column;
}

/* In bytes a second. */
static double value_of(const struct rule *rule, const struct sheet *sheet, int row)
{
    return 1e9 * rule->times * sheet_cell(sheet, row, value_column(sheet))->number;
}

static int gpu_at(const struct sheet *sheet, const struct limits *limits, int row, int column)
{
    int gpu = (int)sheet_cell(sheet, row, column)->number;

    return gpu >= 0 && gpu < limits->n ? gpu : -1;
}

/* The row's ceiling, in bytes a second; 0: not known. */
static double find_ceiling(const struct rule *rule, const struct sheet *sheet,
                           const struct limits *limits, int row, const char **why)
{
    const struct limit *limit = NULL;
    int other, from, to;

    if (rule->source == OF_ROW) {
        other = sheet_find(sheet, &rule->other, rule->same, row, rule->same, row);
        *why = rule->why;
        return other < 0 ? 0 : 1e9 * sheet_cell(sheet, other, value_column(sheet))->number;
    }
    from = gpu_at(sheet, limits, row, rule->from);
    to = gpu_at(sheet, limits, row, rule->to);
    if (rule->source >= OF_NEXT)
        limit = rule->source == OF_NEXT      ? &limits->next
                : rule->source == OF_PARTNER ? &limits->partner
                                             : &limits->all;
    else if (rule->source == OF_BUS && limits->n)
        limit = &limits->gpu[limits->own].bus;
    else if (rule->source == OF_MEMORY && from >= 0)
        limit = &limits->gpu[from].memory;
    else if (rule->source == OF_PAIR && from >= 0 && to >= 0)
        limit = &limits->gpu[from].pair[to];
    *why = limit ? limit->why : "";
    return limit ? rule->ceilings * limit->bytes_per_s : 0;
}

/* "copies one way, slowest pair (0 to 1)" */
static void name_row(const struct rule *rule, const struct sheet *sheet, int row,
                     char name[SHEET_MAX_WORD])
{
    if (rule->source == OF_PAIR)
        snprintf(name, SHEET_MAX_WORD, "%.40s (%.0f to %.0f)", rule->what,
                 sheet_cell(sheet, row, rule->from)->number,
                 sheet_cell(sheet, row, rule->to)->number);
    else
        snprintf(name, SHEET_MAX_WORD, "%s", rule->what);
}

static void add_verdict(const struct rule *rule, const char *name, double value, double ceiling,
                        const char *why, struct sheet *verdicts)
{
    sheet_row(verdicts);
    sheet_word(verdicts, VERDICT_SECTION, rule->subcommand);
    sheet_word(verdicts, VERDICT_WHAT, name);
    sheet_number(verdicts, VERDICT_GB_PER_S, 1e-9 * value);
    if (ceiling > 0) {
        char text[SHEET_MAX_WORD];

        snprintf(text, sizeof text, "%s%.50s", rule->ceilings > 1 ? "2 x " : "", why);
        sheet_number(verdicts, VERDICT_CEILING, 1e-9 * ceiling);
        sheet_number(verdicts, VERDICT_PERCENT, 100 * value / ceiling);
        sheet_word(verdicts, VERDICT_WHY, text);
    } else {
        sheet_word(verdicts, VERDICT_WHY, "not known");
    }
}

/* Whether the rule is for the row at all. */
static bool counts(const struct rule *rule, const struct sheet *sheet, int row)
{
    const double number = sheet_cell(sheet, row, rule->most)->number;

    if (rule->source == OF_PAIR || rule->source == OF_MEMORY)
        return (rule->source == OF_PAIR) == ((int)sheet_cell(sheet, row, rule->from)->number !=
                                             (int)sheet_cell(sheet, row, rule->to)->number);
    for (int other = 0; rule->most && other < sheet->nrows; other++)
        if (sheet_cell(sheet, other, rule->most)->number > number)
            return false;
    return true;
}

static void apply(const struct rule *rule, const struct sheet *sheet, const struct limits *limits,
                  struct sheet *verdicts)
{
    const char *why = "";
    double worst = 0;
    int row = -1, chosen = -1;
    char name[SHEET_MAX_WORD];

    while ((row = sheet_next(sheet, &rule->rows, row)) >= 0) {
        double value = value_of(rule, sheet, row);
        double ceiling = find_ceiling(rule, sheet, limits, row, &why);
        double rank = rule->best ? -value : ceiling > 0 ? value / ceiling : value;

        if (!counts(rule, sheet, row) || (rule->source == OF_ROW && ceiling <= 0) ||
            (chosen >= 0 && rank >= worst))
            continue;
        chosen = row;
        worst = rank;
    }
    if (chosen < 0)
        return;
    name_row(rule, sheet, chosen, name);
    add_verdict(rule, name, value_of(rule, sheet, chosen),
                find_ceiling(rule, sheet, limits, chosen, &why), why, verdicts);
}

void verdict_add(const struct sheet *sheet, const struct limits *limits, struct sheet *verdicts)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].subcommand, sheet->form->subcommand) == 0)
            apply(&rules[i], sheet, limits, verdicts);
}
