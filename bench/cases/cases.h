/* The subcommands of this folder. */
#ifndef GPUBIND_BENCH_CASES_CASES_H
#define GPUBIND_BENCH_CASES_CASES_H

#include "bench/output/runner.h"

extern const struct bench_subject p2p_subject, host_subject, halo_subject, put_subject,
    peer_subject;

#endif
