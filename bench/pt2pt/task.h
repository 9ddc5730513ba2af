/* The state of pt2pt, and its tasks: one measure at one size by all methods. */
#ifndef GPUBIND_BENCH_PT2PT_TASK_H
#define GPUBIND_BENCH_PT2PT_TASK_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/lib/buffer.h"
#include "bench/lib/ranks.h"
#include "bench/lib/stats.h"
#include "bench/output/table.h"
#include "bench/pt2pt/api.h"

/* Who moved the bytes. */
enum method { METHOD_GPUBIND, METHOD_MPI, METHOD_COPY, METHODS };

/* Of one task. */
struct result {
    enum measure measure;
    size_t nbytes;
    int window; /* 1 for blocking messages */
    struct method_result {
        bool measured;
        int iterations;
        struct stats us;
        double bytes_per_s;    /* of all pairs and directions */
        double messages_per_s; /* likewise */
        bool checked, wrong;   /* the data that arrived */
    } by[METHODS];
};

/* The bare copy: into the peer's memory, or to and from page-locked host memory. */
enum copy_kind { COPY_NONE, COPY_PEER, COPY_STAGED };

struct copier {
    enum copy_kind kind;
    unsigned char *remote;  /* COPY_PEER: the peer's pt2pt.in, as it is seen here */
    unsigned char *host[2]; /* COPY_STAGED: for either direction; NULL without a GPU */
    size_t host_nbytes;
};

struct pt2pt {
    const struct bench_options *options;
    struct ranks ranks;
    struct bench_gpu gpu;
    bool has_gpu;
    double gpu_ms; /* what its context took, on the slowest rank */
    bool use[METHODS];
    size_t memory;         /* bytes of out, and of in; the same on all ranks */
    struct buffer out, in; /* what is sent, where it is received */
    struct copier copier;
    struct requests requests;
    int round; /* number of the contents, so that no pattern is used twice */
};

/* Pairs the ranks, opens the GPUs and allocates out and in. options must be set, the rest zero.
 * Collective over MPI_COMM_WORLD; returns the same on all ranks. The caller calls pt2pt_clear on
 * failure, too. */
int pt2pt_open(struct pt2pt *pt2pt, struct gpubind_error *err);
void pt2pt_clear(struct pt2pt *pt2pt);
/* Describes the run and the machine in the table of rank 0. Collective over MPI_COMM_WORLD. */
void pt2pt_describe(const struct pt2pt *pt2pt, struct table *table);
/* Sets use by the options and, once it is open, the copier. */
void pt2pt_find_methods(struct pt2pt *pt2pt);
/* "gpubind", "mpi", and of the bare copy "copy" or "staged". */
const char *pt2pt_method_word(const struct pt2pt *pt2pt, enum method method);

/* One measure at one size. Message i of a window lies at slot
 * (iteration % nsets) * window + i. */
struct task {
    enum measure measure;
    size_t nbytes, stride;
    int window, nsets;
};

/* -1: a message does not fit into the memory. */
int task_make(const struct pt2pt *pt2pt, enum measure measure, size_t nbytes, struct task *task,
              struct gpubind_error *err);
/* Of pt2pt->out and pt2pt->in each, for all tasks of the run. */
int tasks_memory(const struct pt2pt *pt2pt, size_t *nbytes, struct gpubind_error *err);
static inline size_t task_offset(const struct task *task, int iteration, int message)
{
    return ((size_t)(iteration % task->nsets) * (size_t)task->window + (size_t)message) *
           task->stride;
}
static inline bool is_two_way(enum measure measure)
{
    return measure == MEASURE_LATENCY || measure == MEASURE_BIDIRECTIONAL;
}

/* Opens the bare copy after pt2pt_open. Collective over the working ranks. Aborts the job if the
 * requested kind of copy is not possible; without a request, the way may be COPY_NONE. */
void copier_open(struct pt2pt *pt2pt);
void copier_close(struct pt2pt *pt2pt);
/* Copies for one iteration. false: this rank has nothing to copy. */
bool copy_once(struct pt2pt *pt2pt, const struct task *task, int iteration);
/* Sends and receives for one iteration. true on the rank whose time counts. */
bool message_once(struct pt2pt *pt2pt, const struct api *api, const struct task *task,
                  int iteration);

/* Measures all methods in turns, checks the received data, and fills result, which is valid on rank
 * 0 alone. Collective over the working ranks. */
void task_run(struct pt2pt *pt2pt, const struct task *task, struct result *result);
/* The same for the first message of the run, and for those from new allocations. */
void first_run(struct pt2pt *pt2pt, struct result *first, struct result *renewed);
/* Makes the peer close its mappings of buffers, before they are freed. Collective over a pair. */
void buffers_release(const struct pt2pt *pt2pt, const struct buffer *buffers, int n);

/* Fills the first n slots that this rank sends from; checks those it receives into. */
void fill_slots(struct pt2pt *pt2pt, const struct task *task, int n);
bool check_slots(struct pt2pt *pt2pt, const struct task *task, int n);
/* Gathers a method's samples of all working ranks on rank 0. messages, nbytes: messages of an
 * iteration of one pair, and bytes of each. */
void gather_samples(struct pt2pt *pt2pt, struct samples *samples, double messages, size_t nbytes,
                    struct method_result *result);

#endif
