/* What every plan must keep to, on random nodes and jobs. GPUBIND_TEST_SEED and
 * GPUBIND_TEST_CASES repeat a run or make it longer. */
#include <stdlib.h>

#include "tests/cases.h"
#include "tests/tap.h"

struct trial {
    struct node node;
    struct job job;
    struct policy policy;
    struct plan plan;
    bool bound;
    int nworkers, nwith; /* ranks that are no master; ranks with a GPU */
};

static int loads(const struct trial *t, int load[NODE_MAX_GPUS])
{
    int used = 0;

    memset(load, 0, NODE_MAX_GPUS * sizeof *load);
    for (int r = 0; r < t->plan.nranks; r++)
        for (int i = 0; i < t->plan.ranks[r].ngpus; i++)
            used += load[t->plan.ranks[r].gpus[i]]++ == 0;
    return used;
}

static const char *roles(const struct trial *t)
{
    for (int r = 0; r < t->plan.nranks; r++) {
        const struct plan_rank *rank = &t->plan.ranks[r];
        bool with = rank->ngpus > 0;

        if ((rank->role == ROLE_GPU) != with || (with && t->job.ranks[r].master))
            return "a rank's role and its GPUs contradict each other";
        if (with && rank->ngpus != t->policy.gpus_per_rank)
            return "a rank has not gpus_per_rank GPUs";
        if (idset_empty(&rank->cpus) || idset_empty(&rank->numas))
            return "a rank has no CPUs";
        if ((rank->nic >= 0) != (t->node.nnics > 0))
            return "a rank has no NIC";
    }
    return NULL;
}

static int usable_sets(const struct trial *t)
{
    int gpus = t->policy.nmap ? t->policy.nmap : t->node.ngpus;

    return gpus / t->policy.gpus_per_rank;
}

/* As many as there are workers, and packed, as few as hold them. */
static int needed_sets(const struct trial *t, int nworkers)
{
    const bool packs = t->policy.gpus == POLICY_PACK && !t->policy.nmap;
    const int limit = packs && t->policy.ranks_per_gpu ? t->policy.ranks_per_gpu : 1;
    const int needed = (nworkers + limit - 1) / limit, nsets = usable_sets(t);

    return needed < nsets ? needed : nsets;
}

/* Sets that a GPU belongs to must be one set everywhere. */
static const char *sets(const struct trial *t)
{
    for (int r = 0; r < t->plan.nranks; r++)
        for (int q = 0; q < r; q++) {
            const struct plan_rank *a = &t->plan.ranks[r], *b = &t->plan.ranks[q];
            int common = 0;

            for (int i = 0; i < a->ngpus; i++)
                for (int j = 0; j < b->ngpus; j++)
                    common += a->gpus[i] == b->gpus[j];
            if (common && common != a->ngpus)
                return "sets of GPUs overlap";
            if (common && t->nwith <= needed_sets(t, t->nwith))
                return "ranks share GPUs although there are enough";
        }
    return NULL;
}

static const char *use(const struct trial *t)
{
    int load[NODE_MAX_GPUS], used = loads(t, load), nsets = usable_sets(t);
    int high = 0, low = JOB_MAX_LOCAL, cap = t->policy.ranks_per_gpu;
    int room = cap ? cap * nsets : t->policy.overflow == OVERFLOW_IDLE ? nsets : t->nworkers;

    for (int g = 0; g < t->node.ngpus; g++) {
        high = load[g] > high ? load[g] : high;
        low = load[g] && load[g] < low ? load[g] : low;
    }
    if (cap && high > cap)
        return "ranks_per_gpu is exceeded";
    if (nsets && t->nwith != (t->nworkers < room ? t->nworkers : room))
        return "ranks are idle although there is room";
    if (nsets && used < t->policy.gpus_per_rank * needed_sets(t, t->nworkers))
        return "a GPU is left unused";
    return high - low > 1 ? "loads differ by more than one" : NULL;
}

/* Idle: the first ranks get GPUs, the others none. */
static const char *first_ranks(const struct trial *t)
{
    bool idle = false;

    for (int r = 0; r < t->plan.nranks; r++) {
        idle |= t->plan.ranks[r].role == ROLE_IDLE;
        if (idle && t->plan.ranks[r].role == ROLE_GPU)
            return "an idle rank stands before one with a GPU";
    }
    return NULL;
}

static const char *map_order(const struct trial *t)
{
    int at = 0;

    for (int r = 0; r < t->plan.nranks && t->policy.nmap; r++) {
        const struct plan_rank *rank = &t->plan.ranks[r];

        if (!rank->ngpus)
            continue;
        while (at < t->policy.nmap && t->policy.map[at] != rank->gpus[0])
            at += t->policy.gpus_per_rank;
        for (int i = 0; i < rank->ngpus; i++)
            if (at + i >= t->policy.nmap || rank->gpus[i] != t->policy.map[at + i])
                return "the map's order is not kept";
    }
    return NULL;
}

/* Ranks on cores, one a core: Kuhn's augmenting paths. */
static bool augment(const struct trial *t, int r, int *owner, bool *seen)
{
    for (int c = 0; c < t->node.ncores; c++) {
        if (seen[c] || !idset_has(&t->job.ranks[r].cpus, t->node.cores[c].pu[0]))
            continue;
        seen[c] = true;
        if (owner[c] < 0 || augment(t, owner[c], owner, seen)) {
            owner[c] = r;
            return true;
        }
    }
    return false;
}

/* Whether each rank, or each with a GPU, can have a core of its own. */
static bool enough_cores(const struct trial *t, bool all)
{
    int owner[IDSET_MAX];
    bool seen[IDSET_MAX];

    for (int c = 0; c < t->node.ncores; c++)
        owner[c] = -1;
    for (int r = 0; r < t->plan.nranks; r++) {
        memset(seen, 0, (size_t)t->node.ncores);
        if ((all || t->plan.ranks[r].ngpus) && !augment(t, r, owner, seen))
            return false;
    }
    return true;
}

static const char *cores(const struct trial *t)
{
    bool all = enough_cores(t, true), with = enough_cores(t, false);
    bool leftover = !t->bound && t->node.ncores > t->nwith;

    for (int r = 0; r < t->plan.nranks; r++) {
        const struct plan_rank *a = &t->plan.ranks[r];

        if (!idset_within(&a->cpus, &t->job.ranks[r].cpus))
            return "a rank leaves what its launcher bound it to";
        for (int q = 0; q < r && t->policy.bind <= BIND_CORE; q++) {
            const struct plan_rank *b = &t->plan.ranks[q];

            if (!idset_intersects(&a->cpus, &b->cpus))
                continue;
            if (all || (with && a->ngpus && b->ngpus))
                return "ranks share a core although there are enough";
            if (leftover && !a->ngpus != !b->ngpus)
                return "a rank without GPU sits on a worker's core beside leftovers";
        }
    }
    return NULL;
}

/* Where the plan deals out all cores that anybody may use, one rank a core. */
static bool deals_all(const struct trial *t)
{
    return t->policy.bind == BIND_GPU && t->policy.gpus != POLICY_PACK && !t->policy.nmap &&
           enough_cores(t, true);
}

static const char *all_cores(const struct trial *t)
{
    struct idset may, have;

    idset_clear(&may);
    idset_clear(&have);
    for (int r = 0; r < t->plan.nranks; r++) {
        idset_union(&may, &t->job.ranks[r].cpus);
        idset_union(&have, &t->plan.ranks[r].cpus);
    }
    for (int c = 0; deals_all(t) && c < t->node.ncores; c++)
        if (idset_has(&may, t->node.cores[c].pu[0]) && !idset_has(&have, t->node.cores[c].pu[0]))
            return "a core that ranks may use is left over";
    return NULL;
}

static int distance_of(const struct trial *t, int r, int core)
{
    const struct plan_rank *rank = &t->plan.ranks[r];
    int nearest = 3;

    for (int i = 0; i < rank->ngpus; i++) {
        int distance = node_distance(&t->node, rank->gpus[i], core);

        nearest = distance < nearest ? distance : nearest;
    }
    return nearest;
}

/* Cores next to others' GPUs, and not to its own, are at most a rank's first. */
static const char *near_first(const struct trial *t)
{
    for (int r = 0; r < t->plan.nranks && !t->bound && deals_all(t); r++) {
        int taken = 0;

        for (int c = 0; c < t->node.ncores; c++) {
            bool others = false;

            if (!idset_has(&t->plan.ranks[r].cpus, t->node.cores[c].pu[0]))
                continue;
            for (int q = 0; q < t->plan.nranks; q++)
                others |= distance_of(t, q, c) < 2;
            taken += others && distance_of(t, r, c) > 1;
        }
        if (taken > 1)
            return "a rank has cores that are nearer to another's GPU";
    }
    return NULL;
}

/* Cores next to GPUs that are not on the map are not grown into. */
static const char *others_cores(const struct trial *t)
{
    for (int r = 0; r < t->plan.nranks && t->policy.nmap && !t->bound; r++) {
        int taken = 0;

        for (int c = 0; c < t->node.ncores && t->policy.bind == BIND_GPU; c++) {
            bool others = false;

            for (int g = 0; g < t->node.ngpus; g++) {
                bool listed = false;

                for (int i = 0; i < t->policy.nmap; i++)
                    listed |= t->policy.map[i] == g;
                others |= !listed && node_distance(&t->node, g, c) < 2;
            }
            taken += others && t->plan.ranks[r].ngpus && distance_of(t, r, c) > 1 &&
                     idset_has(&t->plan.ranks[r].cpus, t->node.cores[c].pu[0]);
        }
        if (taken > 1 && enough_cores(t, true))
            return "a rank has cores next to a GPU that is not on the map";
    }
    return NULL;
}

static const char *again(const struct trial *t)
{
    struct plan plan;
    struct gpubind_error err;
    bool same;

    if (plan_make(&t->node, &t->job, &t->policy, &plan, &err) < 0)
        return "the second time there is no plan";
    same = plan.hash == t->plan.hash && plan.nranks == t->plan.nranks;
    for (int r = 0; same && r < plan.nranks; r++) {
        const struct plan_rank *a = &plan.ranks[r], *b = &t->plan.ranks[r];

        same &= a->ngpus == b->ngpus && a->nic == b->nic && idset_equal(&a->cpus, &b->cpus) &&
                memcmp(a->gpus, b->gpus, (size_t)a->ngpus * sizeof *a->gpus) == 0;
    }
    plan_clear(&plan);
    return same ? NULL : "the second plan is another one";
}

/* The plan of the same ranks under other numbers, with their numbers put in. */
static const char *renumbered(const struct trial *t)
{
    int *ranks = malloc((size_t)t->job.nranks * sizeof *ranks);
    struct plan plan;
    struct gpubind_error err;
    bool same;

    for (int r = 0; r < t->job.nranks; r++) {
        ranks[r] = t->job.ranks[r].rank;
        t->job.ranks[r].rank = 7 * r + 1000;
    }
    same = plan_make(&t->node, &t->job, &t->policy, &plan, &err) == 0 &&
           plan.hash != t->plan.hash && plan_renumber(&t->node, &plan, ranks) &&
           plan.hash == t->plan.hash && plan.notes == t->plan.notes &&
           memcmp(&plan.cost, &t->plan.cost, sizeof plan.cost) == 0;
    for (int r = 0; r < t->job.nranks; r++) {
        same = same && memcmp(&plan.ranks[r], &t->plan.ranks[r], sizeof plan.ranks[r]) == 0;
        t->job.ranks[r].rank = ranks[r];
    }
    plan_clear(&plan);
    free(ranks);
    return same ? NULL : "a renumbered plan is another one";
}

/* One more master: as many GPUs as before, or all that the others can fill. */
static const char *one_more_master(struct trial *t)
{
    struct plan plan;
    struct gpubind_error err;
    int r = t->plan.nranks / 2, before, after, least;

    if (t->job.ranks[r].master)
        return NULL;
    t->job.ranks[r].master = true;
    if (plan_make(&t->node, &t->job, &t->policy, &plan, &err) < 0)
        return "no plan with one more master";
    t->job.ranks[r].master = false;
    before = idset_count(&t->plan.used_gpus);
    after = idset_count(&plan.used_gpus);
    plan_clear(&plan);
    least = needed_sets(t, t->nworkers - 1) * t->policy.gpus_per_rank;
    return after < before && after < least ? "a master lowers the number of used GPUs" : NULL;
}

/* A second job like this one, whose ranks come after this one's. */
static const char *after_others(struct trial *t)
{
    struct plan plan;
    struct gpubind_error err;
    int load[NODE_MAX_GPUS], high = 0, low = JOB_MAX_LOCAL, used = 0, nsets = usable_sets(t);
    int cap = t->policy.ranks_per_gpu               ? t->policy.ranks_per_gpu
              : t->policy.overflow == OVERFLOW_IDLE ? 1
                                                    : JOB_MAX_LOCAL;

    if (!nsets || t->policy.gpus == POLICY_PACK)
        return NULL;
    loads(t, t->job.busy);
    if (plan_make(&t->node, &t->job, &t->policy, &plan, &err) < 0)
        return "no plan for a second job";
    memset(load, 0, sizeof load);
    for (int r = 0; r < plan.nranks; r++)
        for (int i = 0; i < plan.ranks[r].ngpus; i++)
            load[plan.ranks[r].gpus[i]]++;
    for (int g = 0; g < t->node.ngpus; g++) {
        load[g] += t->job.busy[g];
        used += load[g] > 0;
        high = load[g] > high ? load[g] : high;
        low = load[g] && load[g] < low ? load[g] : low;
    }
    memset(t->job.busy, 0, sizeof t->job.busy);
    plan_clear(&plan);
    if (high > cap)
        return "a second job exceeds ranks_per_gpu";
    if (high > 1 && used < nsets * t->policy.gpus_per_rank)
        return "a second job shares GPUs although others are free";
    /* Where sets leave some GPUs over, those are in the next job's sets. */
    if (!t->policy.nmap && nsets * t->policy.gpus_per_rank < t->node.ngpus)
        return NULL;
    return high - low > 1 ? "a second job shares GPUs that others have more of" : NULL;
}

static const struct property {
    const char *title;
    const char *(*broken)(const struct trial *t);
} properties[] = {
    {"roles, sets, CPUs and NICs are complete", roles},
    {"sets are disjoint while there are enough", sets},
    {"all GPUs are used, loads differ by at most one, caps are kept", use},
    {"the first ranks get GPUs, the rest is idle", first_ranks},
    {"the map's order is kept", map_order},
    {"cores are disjoint while there are enough, inside the launcher's binding", cores},
    {"all cores are dealt out while there are enough", all_cores},
    {"cores near a GPU go to ranks that have it", near_first},
    {"cores near GPUs that are left to others are left, too", others_cores},
    {"same input, same plan and hash", again},
    {"other numbers of ranks, same plan", renumbered},
};
#define NPROPERTIES (sizeof properties / sizeof properties[0])

static void roll_map(struct dice *dice, struct trial *t)
{
    int n = 1 + dice_below(dice, t->node.ngpus);
    bool taken[NODE_MAX_GPUS] = {false};

    while (t->policy.nmap < n) {
        int g = dice_below(dice, t->node.ngpus);

        if (!taken[g])
            t->policy.map[t->policy.nmap++] = g;
        taken[g] = true;
    }
}

/* A cgroup that leaves some of the threads, and dies without memory of their own. */
static void make_uneven(struct dice *dice, struct node *node)
{
    struct idset allowed;

    idset_clear(&allowed);
    for (int c = 0; c < node->ncores; c++)
        for (int p = 0; p < node->cores[c].npus; p++)
            if (!dice_once_in(dice, 3))
                idset_add(&allowed, node->cores[c].pu[p]);
    idset_add(&allowed, node->cores[dice_below(dice, node->ncores)].pu[0]);
    for (int c = 0; c < node->ncores; c++)
        node->cores[c].numa = node->cores[c].numa_domain / 2 * 2;
    node_locate(node);
    if (node_restrict(node, &allowed, NULL) < 0)
        exit(1);
}

static void roll(struct dice *dice, struct trial *t)
{
    memset(t, 0, sizeof *t);
    node_random(dice, &t->node);
    if (dice_once_in(dice, 4))
        make_uneven(dice, &t->node);
    job_unbound(&t->node, 1 + dice_below(dice, dice_once_in(dice, 10) ? 60 : 20), &t->job);
    t->bound = dice_once_in(dice, 2);
    if (t->bound)
        job_bind(dice, &t->node, (enum binding)(1 + dice_below(dice, BOUND_HOWS - 1)), &t->job);
    for (int r = 0; r < t->job.nranks && dice_once_in(dice, 2); r++)
        t->job.ranks[dice_below(dice, t->job.nranks)].master = true;
    for (int r = 0; r < t->job.nranks; r++)
        t->nworkers += !t->job.ranks[r].master;
    policy_default(&t->policy);
    t->policy.overflow = dice_once_in(dice, 3) ? OVERFLOW_IDLE : OVERFLOW_SHARE;
    t->policy.gpus = (enum gpu_policy)dice_below(dice, 3);
    t->policy.bind = dice_once_in(dice, 3) ? (enum bind_level)dice_below(dice, 6) : BIND_GPU;
    t->policy.smt = dice_below(dice, 3);
    if (dice_once_in(dice, 4))
        t->policy.ranks_per_gpu = 1 + dice_below(dice, 3);
    if (t->node.ngpus && dice_once_in(dice, 4))
        roll_map(dice, t);
    if (t->node.ngpus && dice_once_in(dice, 3))
        t->policy.gpus_per_rank = 1 +
                                  dice_below(dice, t->policy.nmap ? t->policy.nmap : t->node.ngpus);
}

static void show(const struct trial *t, int number, const char *what)
{
    const struct policy *p = &t->policy;

    tap_diag("case %d: %s", number, what);
    tap_diag("%d cores, %d GPUs, %d workers of %d ranks, %s; overflow %d, policy %d, bind %d, "
             "gpus_per_rank %d, ranks_per_gpu %d, map of %d",
             t->node.ncores, t->node.ngpus, t->nworkers, t->job.nranks,
             t->bound ? "bound" : "not bound", p->overflow, p->gpus, p->bind, p->gpus_per_rank,
             p->ranks_per_gpu, p->nmap);
    for (int r = 0; r < t->plan.nranks; r++) {
        char *cpus = idlist_text(&t->plan.ranks[r].cpus);

        tap_diag("rank %d: %s, %d GPUs from %d on, CPUs %s", r, role_name(t->plan.ranks[r].role),
                 t->plan.ranks[r].ngpus, t->plan.ranks[r].gpus[0], cpus);
        free(cpus);
    }
}

int main(void)
{
    struct dice dice = {dice_seed(3)};
    int wanted = cases_wanted(3000), failed[NPROPERTIES + 2] = {0}, unplanned = 0;
    const char *said[NPROPERTIES + 2] = {NULL};
    static struct trial t;

    for (int i = 0; i < wanted; i++) {
        struct gpubind_error err;

        roll(&dice, &t);
        if (plan_make(&t.node, &t.job, &t.policy, &t.plan, &err) < 0 && unplanned++ == 0)
            tap_diag("case %d: %s", i, err.text);
        for (int r = 0; r < t.plan.nranks; r++)
            t.nwith += t.plan.ranks[r].ngpus > 0;
        for (size_t p = 0; t.plan.nranks && p < NPROPERTIES + 2; p++) {
            const char *what = p < NPROPERTIES    ? properties[p].broken(&t)
                               : p == NPROPERTIES ? one_more_master(&t)
                                                  : after_others(&t);

            if (what && what != said[p])
                show(&t, i, what);
            if (what)
                said[p] = what;
            failed[p] += what != NULL;
        }
        plan_clear(&t.plan);
        job_clear(&t.job);
        node_clear(&t.node);
    }
    tap_is_int(unplanned, 0, "every case has a plan");
    for (size_t p = 0; p < NPROPERTIES; p++)
        tap_ok(failed[p] == 0, "%s (%d of %d cases fail)", properties[p].title, failed[p], wanted);
    tap_ok(failed[NPROPERTIES] == 0, "one more master never lowers the number of used GPUs");
    tap_ok(failed[NPROPERTIES + 1] == 0, "a second job takes the GPUs that others leave first");
    return tap_done();
}
