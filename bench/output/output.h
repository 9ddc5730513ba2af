/* Output: the table on stdout, files that options name, progress on stderr. */
#ifndef GPUBIND_BENCH_OUTPUT_OUTPUT_H
#define GPUBIND_BENCH_OUTPUT_OUTPUT_H

#include <stdio.h>

#include "bench/lib/options.h"
#include "bench/output/table.h"
#include "core/base/error.h"

/* Opens a file that an option names, before anything is measured. path NULL: *file is NULL. */
int output_open(const char *option, const char *path, FILE **file, struct gpubind_error *err);
/* Writes text, empties it, and closes the file. Returns 0, or EXIT_OWN after an error message. */
int output_close(const char *option, const char *path, FILE *file, struct text *text);

/* Closes and removes a file when there is nothing to write. file may be NULL. */
void output_discard(const char *path, FILE *file);

/* What was not printed yet of the table, on stdout in the format that was asked for. Returns as
 * output_close does. */
int output_table(const struct bench_options *options, struct table *table);
/* The same before the table is complete, if it streams and the format allows it: JSON does not. */
void output_rows(const struct bench_options *options, struct table *table);

/* Prints what is being measured to stderr, if stderr is a terminal or with --progress. */
__attribute__((format(printf, 2, 3))) void output_progress(const struct bench_options *options,
                                                           const char *format, ...);
/* Clears the line of a terminal. */
void output_progress_end(void);

#endif
