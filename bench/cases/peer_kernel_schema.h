/* The table of the subcommand peer-kernel. */
#ifndef GPUBIND_BENCH_CASES_PEER_KERNEL_SCHEMA_H
#define GPUBIND_BENCH_CASES_PEER_KERNEL_SCHEMA_H

#include "bench/output/table.h"

extern const struct table_schema peer_kernel_schema;

enum peer_column {
    PEER_PATTERN,
    PEER_KERNEL, /* numbers of GPUs */
    PEER_MEMORY,
    PEER_ACCESSES,
    PEER_GB_PER_S,
    PEER_NS,
    PEER_DATA,
    PEER_COLUMNS
};

/* pattern: enum bench_pattern. */
const char *peer_kernel_pattern(int pattern);
/* n accesses of bytes_each by a kernel of GPU 0. */
void peer_kernel_add_row(struct table *table, int pattern, int memory, double n, double bytes_each,
                         double seconds, bool wrong);

#endif
