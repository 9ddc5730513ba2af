/* The subcommands of this folder. */
#ifndef GPUBIND_BENCH_CASES_CASES_H
#define GPUBIND_BENCH_CASES_CASES_H

#include "bench/output/runner.h"

extern const struct benchmark p2p_benchmark, host_benchmark, halo_benchmark, put_benchmark,
    peer_kernel_benchmark;

#endif
