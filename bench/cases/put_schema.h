/* What the subcommand put reports. */
#ifndef GPUBIND_BENCH_CASES_PUT_SCHEMA_H
#define GPUBIND_BENCH_CASES_PUT_SCHEMA_H

#include "bench/output/table.h"

extern const struct sheet_form put_form;

enum put_column {
    PUT_WHAT,
    PUT_BY,
    PUT_BLOCKS,
    PUT_WARPS,
    PUT_GB_PER_S,
    PUT_US,
    PUT_DATA,
    PUT_COLUMNS
};

/* by: enum bench_by; how: enum bench_ping. */
const char *put_sheet_by(int by);
void put_sheet_move(struct sheet *sheet, bool put, int by, int blocks, int warps,
                    double gb_per_s, bool wrong);
void put_sheet_ping(struct sheet *sheet, int how, double us, bool wrong);
/* A note: the fewest blocks of those rows that are nearly as fast as the fastest. */
void put_sheet_enough(struct sheet *sheet, bool put, int by);

#endif
