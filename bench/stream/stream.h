/* The subcommand stream: messages that two ranks queue on streams, beside NCCL's and bare copies. */
#ifndef GPUBIND_BENCH_STREAM_STREAM_H
#define GPUBIND_BENCH_STREAM_STREAM_H

#include "bench/lib/buffer.h"
#include "bench/lib/nccl.h"
#include "bench/lib/stats.h"
#include "bench/output/runner.h"
#include "mpi/gpubind.h"

extern const struct benchmark stream_benchmark;

/* Who moves the bytes, in the order in which they are shown. */
enum stream_method {
    STREAM_GPUBIND,    /* calls for a message each */
    STREAM_PERSISTENT, /* persistent requests */
    STREAM_NCCL,
    STREAM_GPUBIND_GRAPH, /* the same three, captured once and launched as a graph */
    STREAM_PERSISTENT_GRAPH,
    STREAM_NCCL_GRAPH,
    STREAM_COPY, /* bare copies into the other rank's memory */
    STREAM_METHODS
};

struct stream_bench {
    const struct bench_options *options;
    int rank, n, other; /* other: of the first two ranks; they alone measure */
    MPI_Comm pair;      /* of these; MPI_COMM_NULL on others */
    struct bench_gpu gpu;
    struct buffer out, in;
    unsigned char *remote; /* the other rank's `in`, mapped; NULL: it cannot be */
    struct nccl nccl;
    bool use[STREAM_METHODS];
    int round; /* number of the contents, so that no pattern is used twice */
};

/* One measure at one size. A turn is what the ranks do once: a ping-pong, an exchange, or a window
 * and a reply. */
struct stream_task {
    struct stream_bench *bench;
    enum stream_measure measure;
    size_t nbytes;
    int window, queued; /* messages of a turn one way; turns that are queued before a wait */
    gpubind_request requests[2];           /* persistent: of a send, of a receive */
    gpu_graph_exec graphs[STREAM_METHODS]; /* of the queued turns; NULL: they are queued anew */
};

/* How a method queues messages in the GPU's first stream; each takes and gives slot 0 to window - 1 of
 * the buffers. Aborts the job when a call fails. */
struct stream_way {
    const char *word; /* "gpubind" */
    void (*send)(const struct stream_task *task, int slot);
    void (*receive)(const struct stream_task *task, int slot);
    /* Several at once: between begin and end come start_send and start_receive. */
    void (*begin)(const struct stream_task *task);
    void (*start_send)(const struct stream_task *task, int slot);
    void (*start_receive)(const struct stream_task *task, int slot);
    void (*end)(const struct stream_task *task);
    bool captured; /* the turns are launched as a graph */
};
extern const struct stream_way stream_ways[STREAM_METHODS];

/* By one method; valid on rank 0 alone. */
struct stream_result {
    bool measured;
    int queued, iterations; /* turns that are queued before the stream is waited for; such waits */
    struct stats us;        /* half a turn of a ping-pong, else a turn; of the slower rank */
    bool wrong;
};

/* Several methods start and end requests. */
static inline bool stream_is_persistent(int method)
{
    return method == STREAM_PERSISTENT || method == STREAM_PERSISTENT_GRAPH;
}

const char *stream_measure_word(enum stream_measure measure);
/* Messages of a turn one way of that measure and size. */
int stream_window(enum stream_measure measure, size_t nbytes);

/* Opens the GPU and NCCL, allocates the buffers, and finds the methods that there are. options must be
 * set, pair MPI_COMM_NULL, the rest zero. Collective over MPI_COMM_WORLD; returns the same on all
 * ranks: 0, -1 or BENCH_CANNOT. why_no_nccl is "" if NCCL is measured, too. The caller calls stream_clear
 * on failure, too. */
int stream_open(struct stream_bench *bench, struct gpubind_error *why_no_nccl,
                struct gpubind_error *err);
void stream_clear(struct stream_bench *bench);

/* Checks the data of all methods once, then measures them in turns. Collective over bench->pair. */
void stream_task_run(struct stream_bench *bench, enum stream_measure measure, size_t nbytes,
                     struct stream_result results[STREAM_METHODS]);

#endif
