/* The table of the subcommand p2p. */
#include "bench/cases/p2p.h"

static const struct table_column columns[] = {
    [P2P_MEASURE] = {COLUMN_WORD, "measure", "measure"},
    [P2P_FROM] = {COLUMN_COUNT, "from", "from"},
    [P2P_TO] = {COLUMN_COUNT, "to", "to"},
    [P2P_ACCESS] = {COLUMN_WORD, "access", "peer access"},
    [P2P_BYTES] = {COLUMN_SIZE, "bytes", "bytes"},
    [P2P_TIMES] = {COLUMN_COUNT, "times", "times"},
    [P2P_US] = {COLUMN_NUMBER, "us", "us"},
    [P2P_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [P2P_DATA] = {COLUMN_WORD, "data", "data"},
    [P2P_CAN] = {COLUMN_WORD, "can_access", "peer access"},
    [P2P_RANK] = {COLUMN_COUNT, "performance_rank", "performance rank"},
    [P2P_ATOMICS] = {COLUMN_WORD, "native_atomics", "native atomics"},
    [P2P_UNIFIED] = {COLUMN_WORD, "unified_addressing", "unified addressing"},
};

#define MATRIX(what, text, of, column, access)                                       \
    {                                                                                \
        .title = text ", peer access " access, .unit = of,                           \
        .where = {{P2P_MEASURE, what}, {P2P_ACCESS, access}}, .layout = VIEW_MATRIX, \
        .value = column, .down = P2P_FROM, .across = P2P_TO                          \
    }

static const struct table_view views[] = {
    {.title = "pairs: what the driver says",
     .where = {{P2P_MEASURE, "pair"}},
     .columns = 1u << P2P_FROM | 1u << P2P_TO | 1u << P2P_CAN | 1u << P2P_RANK | 1u << P2P_ATOMICS |
                1u << P2P_UNIFIED},
    MATRIX("latency", "latency: half a ping-pong of 8 bytes", "us", P2P_US, "off"),
    MATRIX("latency", "latency: half a ping-pong of 8 bytes", "us", P2P_US, "on"),
    MATRIX("ping-pong", "ping-pong: each copy waited for", "GB/s", P2P_GB_PER_S, "off"),
    MATRIX("ping-pong", "ping-pong: each copy waited for", "GB/s", P2P_GB_PER_S, "on"),
    MATRIX("one-way", "one way: copies behind each other", "GB/s", P2P_GB_PER_S, "off"),
    MATRIX("one-way", "one way: copies behind each other", "GB/s", P2P_GB_PER_S, "on"),
    MATRIX("both-ways", "both ways at once, together", "GB/s", P2P_GB_PER_S, "off"),
    MATRIX("both-ways", "both ways at once, together", "GB/s", P2P_GB_PER_S, "on"),
    {.title = "within a GPU: its memory is read and written, twice the bytes of the copy",
     .unit = "GB/s",
     .where = {{P2P_MEASURE, "local"}},
     .columns = 1u << P2P_FROM | 1u << P2P_BYTES | 1u << P2P_TIMES | 1u << P2P_US |
                1u << P2P_GB_PER_S | 1u << P2P_DATA},
};

const struct table_schema p2p_schema = {
    "p2p", columns, P2P_COLUMNS, views, sizeof views / sizeof views[0], 0};
