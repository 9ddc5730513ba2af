/* Measurements beside what the machine could do: one row for each rule. Pure. */
#ifndef GPUBIND_BIN_BENCH_VERDICT_H
#define GPUBIND_BIN_BENCH_VERDICT_H

#include "bin/bench_limits.h"
#include "bin/bench_sheet.h"

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
