/* The steps of plan_make, each with one reason. Internal to the core. */
#ifndef GPUBIND_CORE_PLAN_PLAN_INTERNAL_H
#define GPUBIND_CORE_PLAN_PLAN_INTERNAL_H

#include "core/plan/plan.h"

/* The state that the steps share. */
struct plan_work {
    const struct node *node;
    const struct job *job;
    const struct policy *policy;
    struct plan *plan;
    /* Ranks with equal CPUs are one class: class_of[r], and for class k and core
     * c, usable[k * ncores + c]. */
    int nclasses;
    int *class_of;
    bool *usable;
    /* For class k and GPU g: the smallest node_distance from its cores. */
    unsigned char *distance;
    /* The GPUs in sets of gpus_per_rank, in order; nsets * gpus_per_rank. */
    int nsets;
    short *sets;
};

/* rank_classes.c: everything that depends on the ranks' CPUs alone. */
int plan_classes(struct plan_work *work, struct gpubind_error *err);

/* gpu_sets.c: fills nsets and sets. */
int plan_sets(struct plan_work *work, struct gpubind_error *err);
/* 0 linked, 1 in one PCI hierarchy, then 2 to 5 as the way through the CPUs gets
 * longer (see struct node). */
int plan_pair_class(const struct node *node, int a, int b);

/* Ranks of other jobs that a set has: those of its busiest GPU. */
int plan_set_busy(const struct plan_work *work, int set);
bool plan_is_busy(const struct plan_work *work);

/* policy_pack.c: keeps as many sets as that number of ranks needs. */
void plan_pack(struct plan_work *work, int nworkers);

/* plan_gpus.c: gives sets to the ranks in workers (positions in the job). */
int plan_gpus(struct plan_work *work, const int *workers, int nworkers, struct gpubind_error *err);

/* plan_cost.c: the cost of the assignment as it stands, and each rank's distance. */
void plan_cost(const struct plan_work *work, struct plan_cost *cost);

/* plan_cpus.c: gives cores to all ranks; roles and GPUs are assigned already. */
int plan_cpus(struct plan_work *work, struct gpubind_error *err);

/* plan_hash.c */
uint64_t plan_hash(const struct node *node, const struct plan *plan);

#endif
