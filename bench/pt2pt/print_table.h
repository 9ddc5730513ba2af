/* The three formats behind bench/pt2pt/print.h. */
#ifndef GPUBIND_BENCH_PT2PT_PRINT_TABLE_H
#define GPUBIND_BENCH_PT2PT_PRINT_TABLE_H

#include "bench/pt2pt/result.h"
#include "core/base/text.h"

void table_begin(const struct report *report, struct text *text);
void table_result(const struct report *report, const struct result *result,
                  const struct result *before, struct text *text);

#endif
