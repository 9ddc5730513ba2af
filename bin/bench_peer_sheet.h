/* What the subcommand peer-kernel reports. */
#ifndef GPUBIND_BIN_BENCH_PEER_SHEET_H
#define GPUBIND_BIN_BENCH_PEER_SHEET_H

#include "bin/bench_sheet.h"

extern const struct sheet_form peer_form;

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
const char *peer_sheet_pattern(int pattern);
/* n accesses of bytes_each by a kernel of GPU 0. */
void peer_sheet_add(struct sheet *sheet, int pattern, int memory, double n, double bytes_each,
                    double seconds, bool wrong);

#endif
