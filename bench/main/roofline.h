/* Measurements beside what the machine could do: one row for each rule. Pure. */
#ifndef GPUBIND_BENCH_MAIN_ROOFLINE_H
#define GPUBIND_BENCH_MAIN_ROOFLINE_H

#include "bench/main/peaks.h"
#include "bench/output/table.h"

enum roofline_column {
    ROOFLINE_SUBCOMMAND,
    ROOFLINE_WHAT,
    ROOFLINE_GB_PER_S,
    ROOFLINE_CEILING,
    ROOFLINE_PERCENT,
    ROOFLINE_WHY,
    ROOFLINE_COLUMNS
};
extern const struct table_schema roofline_schema;

/* Adds to roofline, of roofline_schema, what the rules say of a table. */
void roofline_add(const struct table *table, const struct peaks *peaks, struct table *roofline);

#endif
