/* The table of the subcommand host. */
#include "bench/cases/host.h"

static const struct table_column columns[] = {
    [HOST_MEASURE] = {COLUMN_WORD, "measure", "measure"},
    [HOST_MEMORY] = {COLUMN_WORD, "memory", "host memory"},
    [HOST_WAY] = {COLUMN_WORD, "way", "way"},
    [HOST_ORDER] = {COLUMN_WORD, "order", "order"},
    [HOST_CHUNK] = {COLUMN_SIZE, "chunk", "chunk in bytes"},
    [HOST_NODE] = {COLUMN_COUNT, "numa_node", "NUMA node"},
    [HOST_NEAR] = {COLUMN_WORD, "near", "near or far"},
    [HOST_RANK] = {COLUMN_COUNT, "rank", "rank"},
    [HOST_WHEN] = {COLUMN_WORD, "when", "when"},
    [HOST_BYTES] = {COLUMN_SIZE, "bytes", "bytes"},
    [HOST_REPEATS] = {COLUMN_COUNT, "times", "times"},
    [HOST_MS] = {COLUMN_NUMBER, "ms", "ms"},
    [HOST_GB_PER_S] = {COLUMN_NUMBER, "GB_per_s", "GB/s"},
    [HOST_DATA] = {COLUMN_WORD, "data", "data"},
};

#define SHOWN (1u << HOST_MS | 1u << HOST_GB_PER_S | 1u << HOST_DATA)

#define TOGETHER(way, text)                                                                    \
    {                                                                                          \
        .title = text, .unit = "GB/s", .where = {{HOST_MEASURE, "together"}, {HOST_WAY, way}}, \
        .filled = 1u << HOST_RANK, .columns = 1u << HOST_RANK | 1u << HOST_WHEN | SHOWN        \
    }

static const struct table_view views[] = {
    {.title = "copies up to the GPU and down from it",
     .unit = "GB/s",
     .where = {{HOST_MEASURE, "copies"}},
     .columns = 1u << HOST_MEMORY | 1u << HOST_WAY | 1u << HOST_BYTES | 1u << HOST_REPEATS | SHOWN},
    {.title = "in chunks: up, a copy there, down; in one stream or two",
     .unit = "GB/s",
     .where = {{HOST_MEASURE, "chunks"}},
     .columns = 1u << HOST_ORDER | 1u << HOST_CHUNK | 1u << HOST_BYTES | 1u << HOST_REPEATS |
                SHOWN},
    {.title = "memory of each NUMA node",
     .unit = "GB/s",
     .where = {{HOST_MEASURE, "numa"}},
     .columns = 1u << HOST_WAY | 1u << HOST_NODE | 1u << HOST_NEAR | 1u << HOST_BYTES | SHOWN},
    TOGETHER("up", "each rank up, alone and all at once"),
    TOGETHER("down", "each rank down, alone and all at once"),
    {.title = "all ranks together",
     .unit = "GB/s",
     .where = {{HOST_MEASURE, "together"}},
     .empty = 1u << HOST_RANK,
     .columns = 1u << HOST_WAY | 1u << HOST_WHEN | 1u << HOST_GB_PER_S | 1u << HOST_DATA},
};

const struct table_schema host_schema = {
    "host", columns, HOST_COLUMNS, views, sizeof views / sizeof views[0], 0};
