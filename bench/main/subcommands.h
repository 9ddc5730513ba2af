/* The subcommands. A new one is a name here, a row in subcommands.c, its options in
 * option_table.c, a file with its subject, and a paragraph in gpubind-bench(1). */
#ifndef GPUBIND_BENCH_MAIN_SUBCOMMANDS_H
#define GPUBIND_BENCH_MAIN_SUBCOMMANDS_H

#include "bench/output/runner.h"

struct bench_mode {
    const char *word, *help;      /* a line of gpubind-bench --help */
    const char *synopsis, *about; /* of its own --help */
    const struct bench_subject *subject; /* what bench_run takes */
    /* Instead of bench_run: returns the exit status; what is wrong has been said. */
    int (*run)(const struct bench_options *options);
};

extern const struct bench_mode bench_modes[MODES];

int bench_report(const struct bench_options *options);

/* What --help of a subcommand prints. */
void bench_options_help(enum bench_mode_name mode, struct text *text);

#endif
