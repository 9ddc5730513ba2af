/* Measurements relative to the machine's peaks: one row for each rule. Pure. */
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

/* Adds the rows of the rules for this table to roofline, which is of roofline_schema. */
void roofline_add(const struct table *table, const struct peaks *peaks, struct table *roofline);

#endif
