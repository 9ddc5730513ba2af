/* Exit statuses of gpubind-bench, and its messages. */
#ifndef GPUBIND_BENCH_LIB_PROGRAM_H
#define GPUBIND_BENCH_LIB_PROGRAM_H

#include "core/base/error.h"
#include "core/base/text.h"

/* The program's own failures; 1 is that data arrived wrong. */
#define EXIT_OWN 125
#define EXIT_WRONG_DATA 1

/* Status of a measurement that is not possible on this machine, with these ranks or in this build,
 * for the reason in err. It is no failure. */
#define BENCH_CANNOT 1

/* "gpubind-bench: TEXT" on stderr; returns EXIT_OWN. */
int bench_fail(const struct gpubind_error *err);
/* Writes text to stdout, flushes and empties it. Returns 0, or EXIT_OWN after an error message. */
int bench_print(struct text *text);

#endif
