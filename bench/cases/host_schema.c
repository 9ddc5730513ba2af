/* What a reader sees of what host measured. */
#include "bench/cases/host.h"

static const struct sheet_column columns[] = {
    [HOST_MEASURE] = {SHEET_WORD, "measure", "measure"},
    [HOST_MEMORY] = {SHEET_WORD, "memory", "host memory"},
    [HOST_WAY] = {SHEET_WORD, "way", "way"},
    [HOST_ORDER] = {SHEET_WORD, "order", "order"},
    [HOST_CHUNK] = {SHEET_SIZE, "chunk", "chunk in bytes"},
    [HOST_NODE] = {SHEET_COUNT, "numa_node", "NUMA node"},
    [HOST_NEAR] = {SHEET_WORD, "near", "near or far"},
    [HOST_RANK] = {SHEET_COUNT, "rank", "rank"},
    [HOST_WHEN] = {SHEET_WORD, "when", "when"},
    [HOST_BYTES] = {SHEET_SIZE, "bytes", "bytes"},
    [HOST_REPEATS] = {SHEET_COUNT, "times", "times"},
    [HOST_MS] = {SHEET_NUMBER, "ms", "ms"},
    [HOST_GB_PER_S] = {SHEET_NUMBER, "GB_per_s", "GB/s"},
    [HOST_DATA] = {SHEET_WORD, "data", "data"},
};

#define SHOWN (1u << HOST_MS | 1u << HOST_GB_PER_S | 1u << HOST_DATA)

#define TOGETHER(way, text)                                                                \
    {                                                                                      \
        .title = text, .unit = "GB/s", .where = {{HOST_MEASURE, "together"}, {HOST_WAY, way}}, \
        .filled = 1u << HOST_RANK, .picture = SHEET_HEAT, .value = HOST_GB_PER_S,          \
        .down = HOST_WHEN, .across = HOST_RANK,                                            \
        .columns = 1u << HOST_RANK | 1u << HOST_WHEN | SHOWN                               \
    }

static const struct sheet_part parts[] = {
    {.title = "copies up to the GPU and down from it",
     .unit = "GB/s",
     .where = {{HOST_MEASURE, "copies"}},
     .picture = SHEET_BARS,
     .columns = 1u << HOST_MEMORY | 1u << HOST_WAY | 1u << HOST_BYTES | 1u << HOST_REPEATS | SHOWN,
     .names = 1u << HOST_MEMORY | 1u << HOST_WAY,
     .value = HOST_GB_PER_S},
    {.title = "in chunks: up, a copy there, down; in one stream or two",
     .unit = "GB/s",
     .where = {{HOST_MEASURE, "chunks"}},
     .picture = SHEET_LINES,
     .columns = 1u << HOST_ORDER | 1u << HOST_CHUNK | 1u << HOST_BYTES | 1u << HOST_REPEATS | SHOWN,
     .value = HOST_GB_PER_S,
     .down = HOST_ORDER,
     .across = HOST_CHUNK},
    {.title = "memory of each NUMA node",
     .unit = "GB/s",
     .where = {{HOST_MEASURE, "numa"}},
     .picture = SHEET_BARS,
     .columns = 1u << HOST_WAY | 1u << HOST_NODE | 1u << HOST_NEAR | 1u << HOST_BYTES | SHOWN,
     .names = 1u << HOST_NODE | 1u << HOST_NEAR | 1u << HOST_WAY,
     .value = HOST_GB_PER_S},
    TOGETHER("up", "each rank up, alone and all at once"),
    TOGETHER("down", "each rank down, alone and all at once"),
    {.title = "all ranks together",
     .unit = "GB/s",
     .where = {{HOST_MEASURE, "together"}},
     .empty = 1u << HOST_RANK,
     .picture = SHEET_BARS,
     .columns = 1u << HOST_WAY | 1u << HOST_WHEN | 1u << HOST_GB_PER_S | 1u << HOST_DATA,
     .names = 1u << HOST_WAY | 1u << HOST_WHEN,
     .value = HOST_GB_PER_S},
};

const struct sheet_form host_form = {"host", columns, HOST_COLUMNS, parts,
                                     sizeof parts / sizeof parts[0]};
