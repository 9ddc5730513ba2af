/* The subcommands. A new one is a name in enum subcommand_id, a row in subcommands.c, its options
 * in bench/lib/options.c, a file with its struct benchmark, and a paragraph in gpubind-bench(1). */
#ifndef GPUBIND_BENCH_MAIN_SUBCOMMANDS_H
#define GPUBIND_BENCH_MAIN_SUBCOMMANDS_H

#include "bench/output/runner.h"

struct subcommand {
    const char *word, *help;           /* a line of gpubind-bench --help */
    const char *synopsis, *about;      /* of its own --help */
    const struct benchmark *benchmark; /* for benchmark_run */
    /* Called instead of benchmark_run. Returns the exit status, after an error message. */
    int (*run)(const struct bench_options *options);
};

extern const struct subcommand subcommands[SUBCOMMANDS];

int bench_report(const struct bench_options *options);

/* What --help of a subcommand prints. */
void bench_options_help(enum subcommand_id subcommand, struct text *text);

#endif
