/* What is measured once, and what it is measured with. */
#ifndef GPUBIND_BENCH_PT2PT_TASK_H
#define GPUBIND_BENCH_PT2PT_TASK_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/lib/buffer.h"
#include "bench/lib/ranks.h"
#include "bench/lib/stats.h"
#include "bench/pt2pt/api.h"
#include "bench/pt2pt/result.h"

/* The bare copy: into the peer's memory, or to and from page-locked host memory. */
enum copy_way { COPY_NONE, COPY_PEER, COPY_STAGED };

struct copier {
    enum copy_way way;
    unsigned char *remote; /* COPY_PEER: the peer's bench.in, as it is seen here */
    unsigned char *host[2]; /* COPY_STAGED: for either direction; NULL without a GPU */
    size_t host_nbytes;
};

struct pt2pt {
    const struct bench_options *options;
    struct ranks ranks;
    struct bench_gpu gpu;
    bool has_gpu;
    bool use[METHODS];
    size_t memory;       /* for out, and for in; the same on all ranks */
    struct buffer out, in; /* what is sent, where it is received */
    struct copier copier;
    struct requests requests;
    int round; /* of contents: never the same pattern twice */
};

/* Pairs the ranks, opens the GPUs and makes out and in; options must be there, the
 * rest zero-initialised. *gpu_ms: what the GPU's context took, on the slowest rank.
 * Collective over MPI_COMM_WORLD, with the same answer on all ranks; on failure,
 * too, pt2pt_clear is to be called. */
int pt2pt_open(struct pt2pt *pt2pt, double *gpu_ms, struct gpubind_error *err);
void pt2pt_clear(struct pt2pt *pt2pt);
/* Lines about ranks, host and MPI; collective over MPI_COMM_WORLD, and written on rank 0 alone.
 * copy_name: NULL where there is no bare copy. */
void pt2pt_describe(const struct pt2pt *pt2pt, const char *copy_name, struct text *text);
/* Fills use, from the options and, once it is open, the copier. */
void pt2pt_find_methods(struct pt2pt *pt2pt);

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
/* Of bench->out and bench->in each, for all tasks of the run. */
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

/* Opens what the bare copy needs, once out and in are there. Collective over the
 * working ranks. Where the way that was asked for cannot be gone, the job ends;
 * where none was asked for, the copier may have none. */
void copier_open(struct pt2pt *pt2pt);
void copier_close(struct pt2pt *pt2pt);
/* One iteration. false: this rank had nothing to copy. */
bool copy_once(struct pt2pt *pt2pt, const struct task *task, int iteration);
/* The same of messages; true on the rank whose time counts. */
bool message_once(struct pt2pt *pt2pt, const struct api *api, const struct task *task,
                  int iteration);

/* Measures by all methods in turns, checks what arrived, and fills result, which
 * means something on rank 0 alone. Collective over the working ranks. */
void task_run(struct pt2pt *pt2pt, const struct task *task, struct result *result);
/* The very first message, and those from new allocations; likewise. */
void first_run(struct pt2pt *pt2pt, struct result *first, struct result *renewed);
/* To be called before buffers that messages came from or went to are cleared: lets
 * the peer forget them. Pairwise. */
void buffers_release(const struct pt2pt *pt2pt, const struct buffer *buffers, int n);

/* Contents: of the slots that this rank sends from, and those it receives into, in
 * the first n slots of the task. */
void fill_slots(struct pt2pt *pt2pt, const struct task *task, int n);
bool check_slots(struct pt2pt *pt2pt, const struct task *task, int n);
/* One method's samples of all working ranks, on rank 0. moved: messages and bytes of
 * one iteration of one pair. */
void gather_samples(struct pt2pt *pt2pt, struct samples *samples, double messages, size_t nbytes,
                    struct method_result *result);

#endif
