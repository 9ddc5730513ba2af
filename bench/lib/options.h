/* The options of gpubind-bench. */
#ifndef GPUBIND_BENCH_LIB_OPTIONS_H
#define GPUBIND_BENCH_LIB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/text.h"

/* The subcommands, in the order of --help: see bench/main/subcommands.h. */
enum subcommand_id {
    SUBCOMMAND_PT2PT,
    SUBCOMMAND_STREAM,
    SUBCOMMAND_COLL,
    SUBCOMMAND_P2P,
    SUBCOMMAND_HOST,
    SUBCOMMAND_HALO,
    SUBCOMMAND_PUT,
    SUBCOMMAND_PEER_KERNEL,
    SUBCOMMAND_REPORT,
    SUBCOMMANDS
};
enum bench_action { BENCH_RUN, BENCH_HELP, BENCH_VERSION };
enum bench_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };
enum bench_api { API_GPUBIND, API_MPI };
/* Memory of the first and of the second rank of a pair. */
enum bench_buffers { BUFFERS_DD, BUFFERS_DH, BUFFERS_HD, BUFFERS_HH };
/* The bare copy that messages are compared with. */
enum bench_ceiling { CEILING_AUTO, CEILING_PEER, CEILING_STAGED, CEILING_NONE };

/* What pt2pt measures, in the order of MEASURE_WORDS. MEASURE_RENEWED comes with MEASURE_FIRST. */
#define MEASURE_WORDS "first|latency|bandwidth|bidirectional|rate"
enum measure {
    MEASURE_FIRST,
    MEASURE_LATENCY,
    MEASURE_BANDWIDTH,
    MEASURE_BIDIRECTIONAL,
    MEASURE_RATE,
    MEASURES,
    MEASURE_RENEWED = MEASURES
};

/* What stream measures, in the order of STREAM_WORDS. */
#define STREAM_WORDS "latency|waited|exchange|window"
enum stream_measure {
    STREAM_LATENCY,
    STREAM_WAITED,
    STREAM_EXCHANGE,
    STREAM_WINDOW,
    STREAM_MEASURES
};

/* What coll measures, in the order of bench/coll/operations.c. */
#define OPERATION_WORDS                                                                        \
    "allreduce|bcast|alltoall|allgather|reduce_scatter_block|reduce|gather|scatter|alltoallv|" \
    "neighbor_alltoall|iallreduce|ibcast|ialltoall|iallgather"
#define COLL_OPERATIONS 14
#define COLL_MAX_SIZE ((size_t)256 << 20)

/* What host measures, in its order. */
#define HOST_WORDS "copies|chunks|numa|together"

#define BENCH_MAX_SIZES 64
#define BENCH_MAX_SIZE ((size_t)1 << 30)
#define BENCH_MAX_WINDOW 1024

/* Of all subcommands; options that a subcommand does not take are 0. */
struct bench_options {
    enum subcommand_id subcommand;
    enum bench_action action;
    unsigned measures;        /* bit 1 << enum measure */
    unsigned stream_measures; /* bit 1 << enum stream_measure */
    unsigned host_measures;   /* bit 1 << position in HOST_WORDS */
    unsigned operations;      /* bit 1 << position in OPERATION_WORDS */
    size_t sizes[BENCH_MAX_SIZES];
    int nsizes;
    int buffers, api, ceiling; /* the enums above */
    const char *path;          /* NULL: the library chooses */
    bool compare, force, pairs, host;
    int window, iterations, warmup; /* 0: by size; 0: by time */
    int time_ms;
    size_t size; /* bytes of a copy, or that are copied in all */
    int repeats;
    size_t memory; /* bytes a rank; 0: chosen by what there is */
    bool csv, json, progress;
    const char *output;
};

/* What a subcommand does without options. */
int bench_options_default(enum subcommand_id subcommand, struct bench_options *options,
                          struct gpubind_error *err);
/* argv[0] is the subcommand's word. Reads no environment. Values point into argv. */
int bench_options_read(enum subcommand_id subcommand, int argc, char **argv,
                       struct bench_options *options, struct gpubind_error *err);
/* The options that --help of the subcommand shows. */
void bench_options_describe(enum subcommand_id subcommand, struct text *text);
/* "dd" and the like. */
const char *bench_buffers_word(int buffers);

#endif
