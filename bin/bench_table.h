/* The three formats behind bench_print.h. */
#ifndef GPUBIND_BIN_BENCH_TABLE_H
#define GPUBIND_BIN_BENCH_TABLE_H

#include "bin/bench_result.h"
#include "core/base/text.h"

void table_begin(const struct report *report, struct text *text);
void table_result(const struct report *report, const struct result *result,
                  const struct result *before, struct text *text);

#endif
