/* The table of the subcommand put. */
#ifndef GPUBIND_BENCH_CASES_PUT_SCHEMA_H
#define GPUBIND_BENCH_CASES_PUT_SCHEMA_H

#include "bench/output/table.h"

extern const struct table_schema put_schema;

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
const char *put_by_word(int by);
void put_add_move(struct table *table, bool put, int by, int blocks, int warps, double gb_per_s,
                  bool wrong);
void put_add_ping(struct table *table, int how, double us, bool wrong);
/* Adds a note with the fewest blocks that reach 95 % of the best bandwidth. */
void put_note_enough(struct table *table, bool put, int by);

#endif
