/* The subcommand p2p: copies between the GPUs of one process. */
#ifndef GPUBIND_BENCH_CASES_P2P_H
#define GPUBIND_BENCH_CASES_P2P_H

#include "bench/lib/buffer.h"
#include "bench/output/runner.h"

#define P2P_MAX_GPUS 32
#define P2P_LATENCY_NBYTES 8

struct p2p_gpu {
    struct bench_gpu gpu;
    struct buffer out, in;
    gpu_event begin, end, ready;
};

struct p2p {
    const struct bench_options *options;
    struct table *table;
    struct p2p_gpu *gpus;
    int n;
    int round; /* number of the contents, so that no pattern is used twice */
};

/* In the order in which they are measured. */
enum p2p_kind { P2P_LATENCY, P2P_PING_PONG, P2P_ONE_WAY, P2P_BOTH, P2P_KINDS, P2P_LOCAL };

struct p2p_result {
    size_t nbytes;
    int times;
    double us;          /* of one copy; of two at once for P2P_BOTH */
    double bytes_per_s; /* both ways together */
    bool wrong;
};

/* Opens all visible GPUs, possibly none, and allocates nbytes for each buffer. The caller calls
 * p2p_close on failure, too. */
int p2p_open(struct p2p *p2p, size_t nbytes, struct gpubind_error *err);
void p2p_close(struct p2p *p2p);
/* Describes the machine in the table. alone: the note to add if there is only one GPU. */
void p2p_describe(struct p2p *p2p, const char *subcommand, const char *alone);
bool p2p_reaches(const struct p2p *p2p, int from, int to);
/* Enables or disables peer access; disabling what was not enabled is no error. */
int p2p_access(const struct p2p *p2p, int from, int to, bool on, struct gpubind_error *err);

/* Copies from one GPU to the other, or for P2P_LOCAL within one. */
int p2p_measure(struct p2p *p2p, enum p2p_kind kind, int from, int to, struct p2p_result *result,
                struct gpubind_error *err);

/* The schema of the table. */
extern const struct table_schema p2p_schema;
enum p2p_column {
    P2P_MEASURE,
    P2P_FROM,
    P2P_TO,
    P2P_ACCESS,
    P2P_BYTES,
    P2P_TIMES,
    P2P_US,
    P2P_GB_PER_S,
    P2P_DATA,
    P2P_CAN,
    P2P_RANK,
    P2P_ATOMICS,
    P2P_UNIFIED,
    P2P_COLUMNS
};

#endif
