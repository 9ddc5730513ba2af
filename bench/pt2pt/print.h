/* Results as a table, CSV, JSON and SVG. */
#ifndef GPUBIND_BENCH_PT2PT_PRINT_H
#define GPUBIND_BENCH_PT2PT_PRINT_H

#include "bench/pt2pt/result.h"
#include "core/base/text.h"

/* In the order of a run: once, for each result as it comes, once. */
void print_begin(const struct report *report, struct text *text);
/* before: the result before it, or NULL. */
void print_result(const struct report *report, const struct result *result,
                  const struct result *before, struct text *text);
void print_end(const struct report *report, struct text *text);

/* Latency and bandwidth by size, of all that the report holds. */
void draw_report(const struct report *report, struct text *text);

#endif
