/* What a reader sees of what p2p measured. */
#include "bench/cases/p2p.h"

static const struct sheet_column columns[] = {
    [P2P_MEASURE] = {SHEET_WORD, "measure", "measure"},
    [P2P_FROM] = {SHEET_COUNT, "from", "from"},
    [P2P_TO] = {SHEET_COUNT, "to", "to"},
    [P2P_ACCESS] = {SHEET_WORD, "access", "peer access"},
    [P2P_BYTES] = {SHEET_SIZE, "bytes", "bytes"},
    [P2P_TIMES] = {SHEET_COUNT, "times", "times"},
    [P2P_US] = {SHEET_NUMBER, "us", "us"},
    [P2P_GB_PER_S] = {SHEET_NUMBER, "GB_per_s", "GB/s"},
    [P2P_DATA] = {SHEET_WORD, "data", "data"},
    [P2P_CAN] = {SHEET_WORD, "can_access", "peer access"},
    [P2P_RANK] = {SHEET_COUNT, "performance_rank", "performance rank"},
    [P2P_ATOMICS] = {SHEET_WORD, "native_atomics", "native atomics"},
    [P2P_UNIFIED] = {SHEET_WORD, "unified_addressing", "unified addressing"},
};

#define MATRIX(what, text, of, column, access)                                                 \
    {                                                                                          \
        .title = text ", peer access " access, .unit = of,                                     \
        .where = {{P2P_MEASURE, what}, {P2P_ACCESS, access}}, .table = SHEET_MATRIX,           \
        .picture = SHEET_HEAT, .value = column, .down = P2P_FROM, .across = P2P_TO             \
    }

static const struct sheet_part parts[] = {
    {.title = "pairs: what the driver says",
     .where = {{P2P_MEASURE, "pair"}},
     .columns = 1u << P2P_FROM | 1u << P2P_TO | 1u << P2P_CAN | 1u << P2P_RANK |
                1u << P2P_ATOMICS | 1u << P2P_UNIFIED},
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
     .picture = SHEET_BARS,
     .columns = 1u << P2P_FROM | 1u << P2P_BYTES | 1u << P2P_TIMES | 1u << P2P_US |
                1u << P2P_GB_PER_S | 1u << P2P_DATA,
     .names = 1u << P2P_FROM,
     .value = P2P_GB_PER_S},
};

const struct sheet_form p2p_form = {"p2p", columns, P2P_COLUMNS, parts,
                                    sizeof parts / sizeof parts[0]};
