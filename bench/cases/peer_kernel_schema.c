#include "bench/cases/peer_kernel_schema.h"

#include "bench/lib/kernels.h"

static const struct sheet_column columns[] = {
    [PEER_PATTERN] = {SHEET_WORD, "pattern", "pattern"},
    [PEER_KERNEL] = {SHEET_COUNT, "kernel_on", "kernel on"},
    [PEER_MEMORY] = {SHEET_COUNT, "memory_of", "memory of"},
    [PEER_ACCESSES] = {SHEET_COUNT, "accesses", "accesses"},
    [PEER_GB_PER_S] = {SHEET_NUMBER, "GB_per_s", "GB/s"},
    [PEER_NS] = {SHEET_NUMBER, "ns_per_access", "ns an access"},
    [PEER_DATA] = {SHEET_WORD, "data", "data"},
};

static const char *const patterns[PATTERNS] = {"together", "strided", "random", "chain"};

#define ROWS(word, text, of, column)                                                         \
    {                                                                                        \
        .title = text, .where = {{PEER_PATTERN, word}}, .table = SHEET_ROWS,                 \
        .columns = 1u << PEER_KERNEL | 1u << PEER_MEMORY | 1u << PEER_GB_PER_S |             \
                   1u << PEER_NS | 1u << PEER_DATA,                                          \
        .unit = of, .picture = SHEET_BARS, .names = 1u << PEER_MEMORY, .value = column       \
    }

static const struct sheet_part parts[] = {
    ROWS("together", "a[i] = 2 * a[i], threads side by side", "GB/s", PEER_GB_PER_S),
    ROWS("strided", "the same, 128 bytes from one thread to the next", "GB/s", PEER_GB_PER_S),
    ROWS("random", "the same, elements at random", "GB/s", PEER_GB_PER_S),
    ROWS("chain", "one thread, one load of 8 bytes after the other", "ns", PEER_NS),
};

const struct sheet_form peer_form = {"peer-kernel", columns, PEER_COLUMNS, parts,
                                     sizeof parts / sizeof parts[0]};

const char *peer_sheet_pattern(int pattern)
{
    return patterns[pattern];
}

void peer_sheet_add(struct sheet *sheet, int pattern, int memory, double n, double bytes_each,
                    double seconds, bool wrong)
{
    sheet_row(sheet);
    sheet_word(sheet, PEER_PATTERN, patterns[pattern]);
    sheet_number(sheet, PEER_KERNEL, 0);
    sheet_number(sheet, PEER_MEMORY, memory);
    sheet_number(sheet, PEER_ACCESSES, n);
    sheet_number(sheet, PEER_GB_PER_S, n * bytes_each / seconds / 1e9);
    sheet_number(sheet, PEER_NS, 1e9 * seconds / n);
    sheet_word(sheet, PEER_DATA, wrong ? "wrong" : "right");
    sheet->wrong |= wrong;
}
