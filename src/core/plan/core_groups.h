/* Ranks and cores in groups of equals, for the assignment of cores. Internal to the plan. */
#ifndef GPUBIND_CORE_PLAN_CORE_GROUPS_H
#define GPUBIND_CORE_PLAN_CORE_GROUPS_H

#include "core/plan/plan_internal.h"

#define GROUP_FORBIDDEN 255
/* Farther than any distance: cores near GPUs that the job leaves to other jobs. */
#define GROUP_WITHHELD 4

struct core_groups {
    struct plan_work *work;
    /* Ranks of a kind have equal CPUs and equal GPUs. */
    int nkinds;
    int *kind_of;   /* of each rank */
    bool *has_gpu;  /* of each kind */
    int *limit;     /* of each kind: the distance up to which its ranks get cores first */
    bool *withheld; /* of each core: near GPUs that the job leaves to others */
    /* Cores of a group have the same distance to every kind. */
    int ngroups;
    int *group_of;           /* of each core */
    int *size;               /* cores of each group */
    unsigned char *distance; /* ngroups * nkinds: distance, or one of the above */
    int *count;              /* nranks * ngroups: cores of the group that a rank gets */
    int *taken;              /* of each group: the sum of its counts */
    int *total;              /* of each rank: the sum of its counts */
};

/* GPUs are assigned already; counts are zero. The caller clears, also after a
 * failure. */
int core_groups_make(struct plan_work *work, struct core_groups *groups, struct gpubind_error *err);
void core_groups_clear(struct core_groups *groups);

/* Gives one more core of the group to the rank. */
static inline void core_groups_give(struct core_groups *groups, int rank, int group)
{
    groups->count[rank * groups->ngroups + group]++;
    groups->taken[group]++;
    groups->total[rank]++;
}

/* Takes it back. */
static inline void core_groups_take(struct core_groups *groups, int rank, int group)
{
    groups->count[rank * groups->ngroups + group]--;
    groups->taken[group]--;
    groups->total[rank]--;
}

/* Cores of the group that no rank has yet. */
static inline int core_groups_free(const struct core_groups *groups, int group)
{
    int left = groups->size[group] - groups->taken[group];

    return left > 0 ? left : 0;
}

/* first_core.c: counts of one for the ranks' first cores. Ranks that cannot have
 * one get none, and the plan a note. */
int core_groups_assign_first(struct core_groups *groups, struct gpubind_error *err);

static inline int core_groups_distance(const struct core_groups *groups, int group, int kind)
{
    return groups->distance[group * groups->nkinds + kind];
}

/* plan_shares.c: from counts to cores. owns: nranks * ncores, false; becomes true where
 * the rank has the core. */
int core_groups_share(const struct core_groups *groups, bool *owns, struct gpubind_error *err);

#endif
