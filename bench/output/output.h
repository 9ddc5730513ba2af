/* Output: the table on stdout, files that options name, progress on stderr. */
#ifndef GPUBIND_BENCH_OUTPUT_OUTPUT_H
#define GPUBIND_BENCH_OUTPUT_OUTPUT_H

#include <stdbool.h>

#include "bench/lib/options.h"
#include "bench/output/table.h"
#include "core/base/error.h"

/* Whether a file that an option names can be written, before anything is measured; what is there stays. */
int output_check(const char *option, const char *path, struct gpubind_error *err);
/* Replaces it by one with the text, or leaves it as it is; a device only gets the last text. */
bool output_replace(const char *path, const struct text *text, bool is_last);

/* What was not printed yet of the table, on stdout in the format that was asked for. Returns
 * 0, or EXIT_OWN after an error message. */
int output_table(const struct bench_options *options, struct table *table);
/* The same before the table is complete, if it streams and the format allows it: JSON does not. */
void output_rows(const struct bench_options *options, struct table *table);

/* Prints what is being measured to stderr, if stderr is a terminal or with --progress. */
__attribute__((format(printf, 2, 3))) void output_progress(const struct bench_options *options,
                                                           const char *format, ...);
/* Clears the line of a terminal. */
void output_progress_end(void);

#endif
