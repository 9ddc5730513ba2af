/* Who gets what on one node. See gpubind(7) for the rules. */
#ifndef GPUBIND_CORE_PLAN_PLAN_H
#define GPUBIND_CORE_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/idset.h"
#include "core/plan/job.h"
#include "core/topo/node.h"

enum overflow { OVERFLOW_SHARE, OVERFLOW_IDLE, OVERFLOW_ERROR };
enum gpu_policy { POLICY_CLOSEST, POLICY_SPREAD, POLICY_PACK };
enum bind_level { BIND_GPU, BIND_CORE, BIND_L3, BIND_NUMA, BIND_PACKAGE, BIND_NONE };
enum role { ROLE_GPU, ROLE_IDLE, ROLE_MASTER };

struct policy {
    enum overflow overflow;
    enum gpu_policy gpus;
    enum bind_level bind;
    int gpus_per_rank;      /* at least 1 */
    int ranks_per_gpu;      /* 0: no limit */
    int smt;                /* hardware threads used of each core, 0: all */
    bool membind;           /* prefer the memory next to the rank's cores */
    bool require_gpu;       /* a node without GPU is an error */
    int nmap;               /* entries of map; 0: none given */
    int map[NODE_MAX_GPUS]; /* positions in the node, in the order of use */
};

/* Lexicographic, most important first (policy closest). For policy spread the
 * two imbalances come before the two distances. */
struct plan_cost {
    long remote;            /* ranks with a GPU that is not NUMA-local to their cores */
    long hops;              /* sum of node_distance over the ranks' GPUs, and of the
                               distance classes inside each rank's set of GPUs */
    long package_imbalance; /* sum of squares of the ranks a package has */
    long numa_imbalance;    /* the same over NUMA nodes */
};

/* Notes about a plan, for the user, once a node. */
enum plan_note {
    NOTE_NO_GPU = 1 << 0,       /* the node has no usable GPU */
    NOTE_CORES_SHARED = 1 << 1, /* fewer cores than ranks */
    NOTE_GPUS_SHARED = 1 << 2,
    NOTE_IDLE = 1 << 3,        /* overflow left ranks without GPU */
    NOTE_UNUSED_GPUS = 1 << 4, /* sets of gpus_per_rank left some over */
    NOTE_KEPT = 1 << 5,        /* GPUs that were assigned before are kept */
    NOTE_NO_LEFTOVER = 1 << 6, /* masters and idle ranks share the workers' cores */
};

struct plan_rank {
    int rank, local;
    enum role role;
    bool kept;
    int ngpus;
    short gpus[NODE_MAX_GPUS]; /* positions in the node; [0] is the rank's own */
    struct idset cpus;         /* PUs to bind to */
    struct idset numas;        /* memory next to them */
    int ncores;                /* cores that cpus touches */
    int nic;                   /* position in the node, -1 none */
    int distance;              /* largest node_distance from its cores to its GPUs */
};

struct plan {
    int nranks;
    struct plan_rank *ranks; /* in order of local rank */
    bool bind_cpus, bind_memory;
    int smt;                /* hardware threads used of each core, 0: all */
    unsigned notes;         /* enum plan_note */
    struct idset used_gpus; /* positions */
    struct plan_cost cost;
    uint64_t hash; /* of what the ranks get; the node's processes compare it */
};

void policy_default(struct policy *policy);

/* Pure: same input, same plan. The plan is the caller's to clear; on failure it
 * is empty and err names what cannot be met. */
int plan_make(const struct node *node, const struct job *job, const struct policy *policy,
              struct plan *plan, struct gpubind_error *err);
void plan_clear(struct plan *plan);

/* The plan of a node that is the same but for the ranks' global numbers: ranks stand
 * in order of local rank, as many as the plan has. Returns false, and the plan is as
 * it was, where its hash does not follow from what it holds. */
bool plan_renumber(const struct node *node, struct plan *plan, const int *ranks);

/* The rank with this local number, or NULL. */
const struct plan_rank *plan_find(const struct plan *plan, int local);

const char *role_name(enum role role);

#endif
