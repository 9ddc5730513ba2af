/* A node's plan: roles, then GPUs, CPUs and NICs. */
#include "core/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_internal.h"

void policy_default(struct policy *policy)
{
    memset(policy, 0, sizeof *policy);
    policy->gpus_per_rank = 1;
    policy->membind = true;
}

const char *role_name(enum role role)
{
    static const char *const names[] = {"gpu", "idle", "master"};

    return names[role];
}

void plan_clear(struct plan *plan)
{
    free(plan->ranks);
    memset(plan, 0, sizeof *plan);
}

const struct plan_rank *plan_find(const struct plan *plan, int local)
{
    for (int r = 0; r < plan->nranks; r++)
        if (plan->ranks[r].local == local)
            return &plan->ranks[r];
    return NULL;
}

static int check_policy(const struct node *node, const struct policy *policy,
                        struct gpubind_error *err)
{
    int usable = policy->nmap ? policy->nmap : node->ngpus;
    const char *name = node->name[0] ? node->name : "this node";

    if (policy->require_gpu && node->ngpus == 0)
        return error_set(err, "%s has no usable GPU, and one is required", name);
    /* A process can open one MIG instance, and no other GPU with it. */
    for (int i = 0; policy->gpus_per_rank > 1 && i < usable; i++)
        if (node->gpus[policy->nmap ? policy->map[i] : i].mig)
            return error_set(err,
                             "a process can use one MIG instance only, not %d GPUs a rank (%s)",
                             policy->gpus_per_rank, name);
    if (node->ngpus && policy->gpus_per_rank > usable)
        return error_set(err, "%d GPUs a rank were asked for, but %s has %d", policy->gpus_per_rank,
                         name, usable);
    return 0;
}

/* GPUs that were assigned to the rank before: it keeps them, others may share them. */
static void keep_gpus(struct plan_rank *rank, const struct job_rank *from)
{
    const struct idset *gpus = &from->gpus;

    rank->kept = !from->dealt;
    for (int g = idset_next(gpus, -1); g >= 0; g = idset_next(gpus, g), rank->ngpus++)
        rank->gpus[rank->ngpus] = from->order ? from->order[rank->ngpus] : (short)g;
    rank->role = rank->ngpus ? ROLE_GPU : ROLE_IDLE;
}

/* Roles that need no choice; returns the number of ranks that want a GPU, their
 * positions in workers. */
static int find_workers(struct plan_work *work, int *workers)
{
    int n = 0;

    for (int r = 0; r < work->job->nranks; r++) {
        const struct job_rank *from = &work->job->ranks[r];
        struct plan_rank *rank = &work->plan->ranks[r];

        rank->rank = from->rank;
        rank->local = from->local;
        rank->nic = -1;
        rank->role = from->master ? ROLE_MASTER : ROLE_IDLE;
        if (from->master)
            continue;
        if (from->kept) {
            keep_gpus(rank, from);
            work->plan->notes |= NOTE_KEPT;
        } else {
            workers[n++] = r;
        }
    }
    return n;
}

/* How many of the workers can have GPUs under the overflow rule. */
static int limit_workers(struct plan_work *work, int nworkers, struct gpubind_error *err)
{
    const struct policy *policy = work->policy;
    int per_set = policy->ranks_per_gpu;
    long room;

    if (!per_set)
        per_set = policy->overflow == OVERFLOW_SHARE ? nworkers : 1;
    room = 0;
    for (int s = 0; s < work->nsets; s++) {
        int busy = plan_set_busy(work, s);

        room += busy < per_set ? per_set - busy : 0;
    }
    if (nworkers <= room || (!policy->ranks_per_gpu && policy->overflow == OVERFLOW_SHARE))
        return nworkers;
    if (policy->overflow == OVERFLOW_ERROR)
        return error_set(err, "%d ranks want a GPU on %s, which has room for %ld", nworkers,
                         work->node->name[0] ? work->node->name : "this node", room);
    work->plan->notes |= NOTE_IDLE;
    return (int)room;
}

static int count_free(const struct plan_work *work)
{
    int n = 0;

    for (int s = 0; s < work->nsets; s++)
        n += plan_set_busy(work, s) == 0;
    return n;
}

static int assign_gpus(struct plan_work *work, int *workers, int nworkers,
                       struct gpubind_error *err)
{
    if (plan_sets(work, err) < 0)
        return -1;
    nworkers = limit_workers(work, nworkers, err);
    if (nworkers < 0)
        return -1;
    if (work->policy->gpus == POLICY_PACK && !work->policy->nmap && !plan_is_busy(work))
        plan_pack(work, nworkers);
    if (nworkers > count_free(work))
        work->plan->notes |= NOTE_GPUS_SHARED;
    return plan_gpus(work, workers, nworkers, err);
}

static void note_use(struct plan_work *work, int nworkers)
{
    struct plan *plan = work->plan;
    bool any_without = false;
    int usable = work->policy->nmap ? work->policy->nmap : work->node->ngpus;

    for (int r = 0; r < plan->nranks; r++) {
        any_without |= plan->ranks[r].ngpus == 0;
        for (int i = 0; i < plan->ranks[r].ngpus; i++) {
            if (idset_has(&plan->used_gpus, plan->ranks[r].gpus[i])) /* as kept ones may be */
                plan->notes |= NOTE_GPUS_SHARED;
            idset_add(&plan->used_gpus, plan->ranks[r].gpus[i]);
        }
    }
    if (!any_without)
        plan->notes &= ~(unsigned)NOTE_NO_LEFTOVER;
    if (work->node->ngpus == 0)
        plan->notes |= NOTE_NO_GPU;
    if (work->policy->gpus_per_rank > 1 && nworkers >= work->nsets && work->nsets &&
        work->nsets * work->policy->gpus_per_rank < usable)
        plan->notes |= NOTE_UNUSED_GPUS;
}

/* With a single NUMA node there is no memory to prefer. */
static bool has_several_memories(const struct node *node)
{
    for (int c = 1; c < node->ncores; c++)
        if (node->cores[c].numa != node->cores[0].numa)
            return true;
    return false;
}

/* ---- NICs */

/* Of a rank without a GPU: 0 if it has a core near the NIC, else 1. */
static unsigned cpu_hops(const struct plan_work *work, const struct plan_rank *rank, int nic)
{
    const struct idset *near = &work->node->nics[nic].cores;

    for (int c = idset_next(near, -1); c >= 0; c = idset_next(near, c))
        if (idset_has(&rank->cpus, work->node->cores[c].pu[0]))
            return 0;
    return 1;
}

static unsigned hops_to(const struct plan_work *work, const struct plan_rank *rank, int nic)
{
    if (rank->ngpus)
        return work->node->nic_hops[rank->gpus[0] * work->node->nnics + nic];
    return cpu_hops(work, rank, nic);
}

/* Each rank gets the closest NIC; among equally close ones the one that the fewest have. */
static void plan_nics(struct plan_work *work)
{
    int users[NODE_MAX_NICS] = {0};

    for (int r = 0; r < work->plan->nranks; r++) {
        struct plan_rank *rank = &work->plan->ranks[r];
        unsigned best_hops = 0;

        rank->nic = -1;
        for (int n = 0; n < work->node->nnics; n++) {
            unsigned hops = hops_to(work, rank, n);

            if (rank->nic < 0 || hops < best_hops ||
                (hops == best_hops && users[n] < users[rank->nic])) {
                rank->nic = n;
                best_hops = hops;
            }
        }
        if (rank->nic >= 0)
            users[rank->nic]++;
    }
}

/* ---- the plan */

static int fill(struct plan_work *work, int *workers, struct gpubind_error *err)
{
    int nworkers = find_workers(work, workers);

    if (plan_classes(work, err) < 0)
        return -1;
    if (nworkers && work->node->ngpus && assign_gpus(work, workers, nworkers, err) < 0)
        return -1;
    plan_cost(work, &work->plan->cost);
    if (plan_cpus(work, err) < 0)
        return -1;
    plan_nics(work);
    note_use(work, nworkers);
    work->plan->bind_cpus = work->policy->bind != BIND_NONE;
    work->plan->smt = work->policy->smt;
    work->plan->bind_memory = work->plan->bind_cpus && work->policy->membind &&
                              has_several_memories(work->node);
    work->plan->hash = plan_hash(work->node, work->plan);
    return 0;
}

int plan_make(const struct node *node, const struct job *job, const struct policy *policy,
              struct plan *plan, struct gpubind_error *err)
{
    struct plan_work work = {.node = node, .job = job, .policy = policy, .plan = plan};
    int *workers;
    int status;

    memset(plan, 0, sizeof *plan);
    if (check_policy(node, policy, err) < 0)
        return -1;
    workers = malloc((size_t)job->nranks * sizeof *workers);
    plan->ranks = calloc((size_t)job->nranks, sizeof *plan->ranks);
    plan->nranks = job->nranks;
    status = workers && plan->ranks ? fill(&work, workers, err) : error_set(err, "out of memory");
    free(workers);
    free(work.class_of);
    free(work.usable);
    free(work.distance);
    free(work.sets);
    if (status < 0)
        plan_clear(plan);
    return status;
}
