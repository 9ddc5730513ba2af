/* The ranks of a job that run on one node. */
#ifndef GPUBIND_CORE_PLAN_JOB_H
#define GPUBIND_CORE_PLAN_JOB_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/idset.h"
#include "core/topo/node.h"

#define JOB_MAX_RANKS 65536
#define JOB_MAX_LOCAL 4096

struct job_rank {
    int rank;          /* global number */
    int local;         /* number on its node */
    bool master;       /* takes no GPU */
    struct idset cpus; /* PUs that its launcher lets it use */
    bool kept;         /* its GPUs were assigned before ... */
    struct idset gpus; /* ... namely these positions in the node ... */
    short *order;      /* ... in this order, owned; NULL: ascending */
    bool dealt;        /* ... out of more that it was given together with other ranks */
};

/* In order of local rank; ranks that did not take part are simply absent. */
struct job {
    int nranks;
    struct job_rank *ranks;
    int busy[NODE_MAX_GPUS]; /* of each position in the node: ranks of other jobs that
                                have the GPU; this job's come after them */
};

int job_make(struct job *job, int nranks, struct gpubind_error *err);
void job_clear(struct job *job);

/* Marks the ranks whose global number is among the masters. */
void job_mark_masters(struct job *job, const int *masters, int nmasters);

/* ranks: the job's ranks with a GPU, ascending, over all nodes. north is the
 * nearest of them below rank, south the nearest above, -1 where there is none;
 * both are -1 when rank itself is not among them. */
void job_neighbors(const int *ranks, int nranks, int rank, int *north, int *south);

#endif
