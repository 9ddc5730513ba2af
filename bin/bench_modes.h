/* The subcommands. A new one is a name here, a row in bench_modes.c, its options in
 * bench_rows.c, a file with its run function, and a paragraph in gpubind-bench(1). */
#ifndef GPUBIND_BIN_BENCH_MODES_H
#define GPUBIND_BIN_BENCH_MODES_H

#include "bin/bench_options.h"

struct bench_mode {
    const char *word, *help;      /* a line of gpubind-bench --help */
    const char *synopsis, *about; /* of its own --help */
    /* Returns the exit status; what is wrong has been said. */
    int (*run)(const struct bench_options *options);
};

extern const struct bench_mode bench_modes[MODES];

int bench_pt2pt(const struct bench_options *options);
int bench_p2p(const struct bench_options *options);
int bench_host(const struct bench_options *options);
int bench_halo(const struct bench_options *options);
int bench_put(const struct bench_options *options);
int bench_peer(const struct bench_options *options);
int bench_report(const struct bench_options *options);

#endif
