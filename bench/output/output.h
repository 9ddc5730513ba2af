/* Where results go. */
#ifndef GPUBIND_BENCH_OUTPUT_OUTPUT_H
#define GPUBIND_BENCH_OUTPUT_OUTPUT_H

#include <stdio.h>

#include "bench/lib/options.h"
#include "bench/output/table.h"
#include "core/base/error.h"

/* A file that an option names, opened before anything is measured. path NULL: *file is
 * NULL. */
int output_open(const char *option, const char *path, FILE **file, struct gpubind_error *err);
/* Writes text and closes. text is emptied. Returns 0 or EXIT_OWN, having said so. */
int output_close(const char *option, const char *path, FILE *file, struct text *text);

/* Closes and removes it: there was nothing to write. file may be NULL. */
void output_discard(const char *path, FILE *file);

/* The table on stdout, in the format that was asked for. Returns as output_close does. */
int output_table(const struct bench_options *options, const struct table *table);

/* Says on stderr what is being measured: where stderr is a terminal, else with
 * --progress. */
__attribute__((format(printf, 2, 3))) void output_progress(const struct bench_options *options,
                                                           const char *format, ...);
/* A terminal's line is empty again. */
void output_progress_end(void);

#endif
