#include "bench/cases/peer_kernel_schema.h"

#include "bench/lib/kernels.h"

static const struct table_column columns[] = {
    [PEER_PATTERN] = {COLUMN_WORD, "pattern", "pattern"},
    [PEER_KERNEL] = {COLUMN_COUNT, "kernel_on", "kernel on"},
    [PEER_MEMORY] = {COLUMN_COUNT, "memory_of", "memory of"},
    [PEER_ACCESSES] = {COLUMN_COUNT, "accesses", "accesses"},
    [PEER_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [PEER_NS] = {COLUMN_NUMBER, "ns_per_access", "ns an access"},
    [PEER_DATA] = {COLUMN_WORD, "data", "data"},
};

static const char *const patterns[PATTERNS] = {"together", "strided", "random", "chain"};

#define ROWS(word, text, of)                                                                     \
    {                                                                                            \
        .title = text, .where = {{PEER_PATTERN, word}}, .layout = VIEW_ROWS,                     \
        .columns = 1u << PEER_KERNEL | 1u << PEER_MEMORY | 1u << PEER_GB_PER_S | 1u << PEER_NS | \
                   1u << PEER_DATA,                                                              \
        .unit = of                                                                               \
    }

static const struct table_view views[] = {
    ROWS("together", "a[i] = 2 * a[i], threads side by side", "GB/s"),
    ROWS("strided", "the same, 128 bytes from one thread to the next", "GB/s"),
    ROWS("random", "the same, elements at random", "GB/s"),
    ROWS("chain", "one thread, one load of 8 bytes after the other", "ns"),
};

const struct table_schema peer_kernel_schema = {
    "peer-kernel", columns, PEER_COLUMNS, views, sizeof views / sizeof views[0], 0};

const char *peer_kernel_pattern(int pattern)
{
    return patterns[pattern];
}

void peer_kernel_add_row(struct table *table, int pattern, int memory, double n, double bytes_each,
                         double seconds, bool wrong)
{
    table_add_row(table);
    table_set_word(table, PEER_PATTERN, patterns[pattern]);
    table_set_number(table, PEER_KERNEL, 0);
    table_set_number(table, PEER_MEMORY, memory);
    table_set_number(table, PEER_ACCESSES, n);
    table_set_number(table, PEER_GB_PER_S, n * bytes_each / seconds / 1e9);
    table_set_number(table, PEER_NS, 1e9 * seconds / n);
    table_set_word(table, PEER_DATA, wrong ? "wrong" : "right");
    table->wrong |= wrong;
}
