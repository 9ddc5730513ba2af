/* Which rank gets which set of GPUs: the optimum of struct plan_cost, as a flow
 *
 *   source -> kinds of ranks -> sets -> (NUMA node -> package ->) sink
 *
 * where a kind are the ranks with equal distances to all sets. Every set takes a
 * floor of ranks straight to the sink, as many as bring it to the level that all
 * reach; one more may pass through its NUMA node and package, where arcs of rising
 * cost make up the sums of squares. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/min_cost_flow.h"
#include "core/plan/plan_internal.h"

struct assignment {
    struct plan_work *work;
    const int *workers;
    int nworkers;
    int level; /* ranks that every set has at least, those of other jobs included */
    int nkinds;
    int *kind_of;              /* of each worker */
    unsigned short (*rows)[2]; /* nkinds * nsets: remote, hops */
    struct flow flow;
    int *arc; /* nkinds * nsets */
};

static const short *set_members(const struct plan_work *work, int set)
{
    return &work->sets[set * work->policy->gpus_per_rank];
}

static int set_spread(const struct plan_work *work, int set)
{
    const short *gpus = set_members(work, set);
    int sum = 0;

    for (int a = 0; a < work->policy->gpus_per_rank; a++)
        for (int b = a + 1; b < work->policy->gpus_per_rank; b++)
            sum += plan_pair_class(work->node, gpus[a], gpus[b]);
    return sum;
}

/* What giving the set to a rank of class k costs: is a GPU of it not NUMA-local,
 * and the sum of its distances. */
static void set_distance(const struct plan_work *work, int k, int set, unsigned short row[2])
{
    const short *gpus = set_members(work, set);
    int remote = 0, hops = set_spread(work, set);

    for (int i = 0; i < work->policy->gpus_per_rank; i++) {
        int distance = work->distance[k * work->node->ngpus + gpus[i]];

        remote |= distance > 1;
        hops += distance;
    }
    row[0] = (unsigned short)remote;
    row[1] = (unsigned short)(hops < USHRT_MAX ? hops : USHRT_MAX);
}

/* Puts the workers into kinds; the rows of the kinds found so far are compared. */
static int find_kinds(struct assignment *a, struct gpubind_error *err)
{
    struct plan_work *work = a->work;
    size_t row_size = (size_t)work->nsets * sizeof *a->rows;
    int *kind_of_class = malloc((size_t)work->nclasses * sizeof *kind_of_class);

    a->kind_of = malloc((size_t)a->nworkers * sizeof *a->kind_of);
    a->rows = malloc((size_t)work->nclasses * row_size);
    if (!kind_of_class || !a->kind_of || !a->rows) {
        free(kind_of_class);
        return error_set(err, "out of memory");
    }
    for (int k = 0; k < work->nclasses; k++) {
        unsigned short(*row)[2] = &a->rows[a->nkinds * work->nsets];
        int kind = 0;

        for (int s = 0; s < work->nsets; s++)
            set_distance(work, k, s, row[s]);
        while (kind < a->nkinds && memcmp(&a->rows[kind * work->nsets], row, row_size) != 0)
            kind++;
        kind_of_class[k] = kind;
        a->nkinds += kind == a->nkinds;
    }
    for (int w = 0; w < a->nworkers; w++)
        a->kind_of[w] = kind_of_class[work->class_of[a->workers[w]]];
    free(kind_of_class);
    return 0;
}

static flow_cost distance_cost(const struct assignment *a, const unsigned short row[2])
{
    bool spread = a->work->policy->gpus == POLICY_SPREAD;
    const long near_cost[FLOW_PARTS] = {0, row[0], row[1], 0, 0};
    const long spread_cost[FLOW_PARTS] = {0, 0, 0, row[0], row[1]};

    return flow_cost_of(spread ? spread_cost : near_cost);
}

static flow_cost balance_cost(const struct assignment *a, long package, long numa)
{
    bool spread = a->work->policy->gpus == POLICY_SPREAD;
    const long near_cost[FLOW_PARTS] = {0, 0, 0, package, numa};
    const long spread_cost[FLOW_PARTS] = {0, package, numa, 0, 0};

    return flow_cost_of(spread ? spread_cost : near_cost);
}

static int floor_of(const struct assignment *a, int set)
{
    int busy = plan_set_busy(a->work, set);

    return busy < a->level ? a->level - busy : 0;
}

/* Whether the set may have one rank more than its floor. */
static bool may_exceed(const struct assignment *a, int set)
{
    return plan_set_busy(a->work, set) <= a->level;
}

static int find_level(const struct plan_work *work, int nworkers)
{
    for (int level = 0;; level++) {
        int needed = 0;

        for (int s = 0; s < work->nsets; s++) {
            int busy = plan_set_busy(work, s);

            needed += busy <= level ? level + 1 - busy : 0;
        }
        if (needed > nworkers)
            return level;
    }
}

/* Groups of sets that lie in one place. A set lies where its first GPU does. */
struct places {
    int n;
    int nextra[NODE_MAX_GPUS]; /* sets that may exceed their floor */
    int floors[NODE_MAX_GPUS]; /* sum over its sets */
    int first[NODE_MAX_GPUS];  /* the first of them */
    int of_set[NODE_MAX_GPUS]; /* position of each set's place */
};

static bool same_place(const struct plan_work *work, bool packages, int a, int b)
{
    const struct gpu *x = &work->node->gpus[set_members(work, a)[0]];
    const struct gpu *y = &work->node->gpus[set_members(work, b)[0]];

    return x->package == y->package && (packages || x->numa_domain == y->numa_domain);
}

static void find_dirs(const struct assignment *a, bool packages, struct places *places)
{
    const struct plan_work *work = a->work;

    places->n = 0;
    for (int s = 0; s < work->nsets; s++) {
        int p = 0;

        while (p < places->n && !same_place(work, packages, places->first[p], s))
            p++;
        if (p == places->n) {
            places->first[places->n++] = s;
            places->nextra[p] = 0;
            places->floors[p] = 0;
        }
        places->nextra[p] += may_exceed(a, s);
        places->floors[p] += floor_of(a, s);
        places->of_set[s] = p;
    }
}

/* The step from e - 1 to e further ranks in a place whose sets have their floor. */
static long square_step(int floors, int e)
{
    return 2L * ((long)floors + e) - 1;
}

static int count_kind(const struct assignment *a, int kind)
{
    int n = 0;

    for (int w = 0; w < a->nworkers; w++)
        n += a->kind_of[w] == kind;
    return n;
}

/* Nodes of the graph, in this order: source, sink, kinds, sets, NUMA nodes,
 * packages. */
static void add_arcs(struct assignment *a, const struct places *numas,
                     const struct places *packages)
{
    static const long must[FLOW_PARTS] = {-1, 0, 0, 0, 0};
    int nsets = a->work->nsets, kind0 = 2;
    int set0 = kind0 + a->nkinds, numa0 = set0 + nsets, package0 = numa0 + numas->n;

    for (int k = 0; k < a->nkinds; k++) {
        int supply = count_kind(a, k);

        flow_add(&a->flow, 0, kind0 + k, supply, 0);
        for (int s = 0; s < nsets; s++)
            a->arc[k * nsets + s] = flow_add(&a->flow, kind0 + k, set0 + s, supply,
                                             distance_cost(a, a->rows[k * nsets + s]));
    }
    for (int s = 0; s < nsets; s++) {
        flow_add(&a->flow, set0 + s, 1, floor_of(a, s), flow_cost_of(must));
        flow_add(&a->flow, set0 + s, numa0 + numas->of_set[s], may_exceed(a, s), 0);
    }
    for (int n = 0; n < numas->n; n++)
        for (int e = 1; e <= numas->nextra[n]; e++)
            flow_add(&a->flow, numa0 + n, package0 + packages->of_set[numas->first[n]], 1,
                     balance_cost(a, 0, square_step(numas->floors[n], e)));
    for (int p = 0; p < packages->n; p++)
        for (int e = 1; e <= packages->nextra[p]; e++)
            flow_add(&a->flow, package0 + p, 1, 1,
                     balance_cost(a, square_step(packages->floors[p], e), 0));
}

static void give_set(const struct plan_work *work, int r, int set)
{
    struct plan_rank *rank = &work->plan->ranks[r];

    rank->role = ROLE_GPU;
    rank->ngpus = work->policy->gpus_per_rank;
    memcpy(rank->gpus, set_members(work, set), (size_t)rank->ngpus * sizeof *rank->gpus);
}

/* Among the optima, the one whose first rank has the first set, and so on. */
static int read_assignment(struct assignment *a, struct gpubind_error *err)
{
    flow_settle(&a->flow);
    for (int w = 0; w < a->nworkers; w++) {
        const int *arcs = &a->arc[a->kind_of[w] * a->work->nsets];
        int set = 0;

        while (set < a->work->nsets && !flow_prefer(&a->flow, arcs[set]))
            set++;
        if (set == a->work->nsets)
            return error_set(err, "internal: local rank %d was left without a GPU", a->workers[w]);
        give_set(a->work, a->workers[w], set);
    }
    return 0;
}

static int assign(struct assignment *a, struct gpubind_error *err)
{
    int nsets = a->work->nsets;
    struct places numas, packages;

    a->level = find_level(a->work, a->nworkers);
    if (find_kinds(a, err) < 0)
        return -1;
    find_dirs(a, false, &numas);
    find_dirs(a, true, &packages);
    a->arc = malloc((size_t)a->nkinds * nsets * sizeof *a->arc);
    if (!a->arc)
        return error_set(err, "out of memory");
    if (flow_make(&a->flow, 2 + a->nkinds + nsets + numas.n + packages.n,
                  a->nkinds * (nsets + 1) + 4 * nsets, err) < 0)
        return -1;
    add_arcs(a, &numas, &packages);
    flow_solve(&a->flow, 0, 1);
    return read_assignment(a, err);
}

/* The order of the map is the user's: entries that other jobs have come last. */
static void follow_map_after(struct plan_work *work, const int *workers, int nworkers)
{
    int given[NODE_MAX_GPUS] = {0};

    for (int w = 0; w < nworkers; w++) {
        int least = 0;

        for (int s = 1; s < work->nsets; s++)
            if (plan_set_busy(work, s) + given[s] < plan_set_busy(work, least) + given[least])
                least = s;
        give_set(work, workers[w], least);
        given[least]++;
    }
}

/* Likewise, where there are none: neighbouring ranks share its entries. */
static void follow_map(struct plan_work *work, const int *workers, int nworkers)
{
    for (int w = 0; w < nworkers; w++) {
        int larger = nworkers % work->nsets, floor = nworkers / work->nsets;
        int in_larger = larger * (floor + 1);

        give_set(work, workers[w],
                 w < in_larger ? w / (floor + 1) : larger + (w - in_larger) / floor);
    }
}

int plan_gpus(struct plan_work *work, const int *workers, int nworkers, struct gpubind_error *err)
{
    struct assignment a = {.work = work, .workers = workers, .nworkers = nworkers};
    int status;

    if (nworkers == 0)
        return 0;
    if (work->policy->nmap) {
        if (plan_is_busy(work))
            follow_map_after(work, workers, nworkers);
        else
            follow_map(work, workers, nworkers);
        return 0;
    }
    status = assign(&a, err);
    free(a.kind_of);
    free(a.rows);
    free(a.arc);
    flow_clear(&a.flow);
    return status;
}
