/* Measurements beside what the machine could do: one row for each rule. Pure. */
#ifndef GPUBIND_BENCH_MAIN_ROOFLINE_H
#define GPUBIND_BENCH_MAIN_ROOFLINE_H

#include "bench/main/peaks.h"
#include "bench/output/table.h"

enum verdict_column {
    VERDICT_SECTION,
    VERDICT_WHAT,
    VERDICT_GB_PER_S,
    VERDICT_CEILING,
    VERDICT_PERCENT,
    VERDICT_WHY,
    VERDICT_COLUMNS
};
extern const struct sheet_form verdict_form;

/* Adds to verdicts, of verdict_form, what the rules say of a sheet. */
void verdict_add(const struct sheet *sheet, const struct limits *limits, struct sheet *verdicts);

#endif
