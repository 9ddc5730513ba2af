/* The plan is the optimum of its stated cost, and among the optima the smallest
 * assignment in order of local rank, then PCI address. Checked against a search
 * through all assignments, with a cost of its own, on every recorded machine. */
#include <limits.h>
#include <stdlib.h>

#include "tests/cases.h"
#include "tests/tap.h"

#define MAX_RANKS 8
#define MAX_GPUS 32
enum { PARTS = 4 }; /* remote, hops, packages, NUMA nodes; spread turns them round */

struct search {
    const struct node *node;
    int nranks, floor, larger; /* loads: floor, and floor + 1 for `larger` GPUs */
    bool spread;
    int distance[MAX_RANKS][MAX_GPUS];
    int nearest[MAX_RANKS];
    int place[2][MAX_GPUS], nplaces[2]; /* packages, NUMA nodes */
    bool twin[MAX_GPUS][MAX_GPUS];
    int load[MAX_GPUS];
    int now[MAX_RANKS], best[MAX_RANKS];
    long best_cost[PARTS];
};

/* 0 nearest cores, 1 same NUMA node, 2 same package, 3 elsewhere. */
static int look(const struct gpu *gpu, const struct core *core, bool near)
{
    if (near)
        return 0;
    if (gpu->numa_domain != -1 && gpu->numa_domain == core->numa_domain)
        return 1;
    return gpu->package != -1 && gpu->package == core->package ? 2 : 3;
}

static int distance_of(const struct node *node, const struct idset *cpus, int g)
{
    int best = 3;

    for (int c = 0; c < node->ncores; c++)
        for (int p = 0; p < node->cores[c].npus; p++) {
            int here = look(&node->gpus[g], &node->cores[c], idset_has(&node->gpus[g].cores, c));

            if (idset_has(cpus, node->cores[c].pu[p]) && here < best)
                best = here;
        }
    return best;
}

static bool same_place(const struct gpu *a, const struct gpu *b, bool numas)
{
    return a->package == b->package && (!numas || a->numa_domain == b->numa_domain);
}

static void find_places(struct search *s, int kind)
{
    for (int g = 0; g < s->node->ngpus; g++) {
        int h = 0;

        while (!same_place(&s->node->gpus[h], &s->node->gpus[g], kind == 1))
            h++;
        s->place[kind][g] = h == g ? s->nplaces[kind]++ : s->place[kind][h];
    }
}

static bool twins(const struct search *s, int a, int b)
{
    bool same = s->place[0][a] == s->place[0][b] && s->place[1][a] == s->place[1][b];

    for (int r = 0; r < s->nranks; r++)
        same &= s->distance[r][a] == s->distance[r][b];
    return same;
}

/* Of GPUs that no rank can tell apart, the first comes first in order too. */
static bool may_take(const struct search *s, int g, int larger_left)
{
    for (int h = 0; h < g; h++)
        if (s->load[h] == s->load[g] && s->twin[h][g])
            return false;
    return s->load[g] < s->floor || (s->load[g] == s->floor && larger_left > 0);
}

/* The least sum of squares with `more` ranks still to come. */
static long squares(const struct search *s, int kind, int more)
{
    int load[MAX_GPUS] = {0}, room[MAX_GPUS] = {0};
    long sum = 0;

    for (int g = 0; g < s->node->ngpus; g++) {
        load[s->place[kind][g]] += s->load[g];
        room[s->place[kind][g]] += s->floor + 1 - s->load[g];
    }
    for (; more > 0; more--) {
        int least = -1;

        for (int p = 0; p < s->nplaces[kind]; p++)
            if (room[p] > 0 && (least < 0 || load[p] < load[least]))
                least = p;
        load[least]++;
        room[least]--;
    }
    for (int p = 0; p < s->nplaces[kind]; p++)
        sum += (long)load[p] * load[p];
    return sum;
}

/* What the first `done` ranks cost, and at least what the others will. */
static void bound(const struct search *s, int done, long cost[PARTS])
{
    long remote = 0, hops = 0;
    int near = s->spread ? 2 : 0, even = s->spread ? 0 : 2;

    for (int r = 0; r < s->nranks; r++) {
        int d = r < done ? s->distance[r][s->now[r]] : s->nearest[r];

        remote += d > 1;
        hops += d;
    }
    cost[near] = remote;
    cost[near + 1] = hops;
    cost[even] = squares(s, 0, s->nranks - done);
    cost[even + 1] = squares(s, 1, s->nranks - done);
}

static bool cheaper(const long a[PARTS], const long b[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

/* Goes through the assignments in their order and keeps the first of the best. */
static void walk(struct search *s, int rank, int larger_left)
{
    long cost[PARTS];

    bound(s, rank, cost);
    if (!cheaper(cost, s->best_cost))
        return;
    if (rank == s->nranks) {
        memcpy(s->best_cost, cost, sizeof cost);
        memcpy(s->best, s->now, sizeof s->now);
        return;
    }
    for (int g = 0; g < s->node->ngpus; g++) {
        bool larger = s->load[g] == s->floor;

        if (!may_take(s, g, larger_left))
            continue;
        s->load[g]++;
        s->now[rank] = g;
        walk(s, rank + 1, larger_left - larger);
        s->load[g]--;
    }
}

static void search_best(const struct node *node, const struct job *job, bool spread,
                        struct search *s)
{
    memset(s, 0, sizeof *s);
    s->node = node;
    s->nranks = job->nranks;
    s->floor = job->nranks / node->ngpus;
    s->larger = job->nranks % node->ngpus;
    s->spread = spread;
    find_places(s, 0);
    find_places(s, 1);
    for (int r = 0; r < job->nranks; r++) {
        s->nearest[r] = 3;
        for (int g = 0; g < node->ngpus; g++) {
            s->distance[r][g] = distance_of(node, &job->ranks[r].cpus, g);
            if (s->distance[r][g] < s->nearest[r])
                s->nearest[r] = s->distance[r][g];
        }
    }
    for (int a = 0; a < node->ngpus; a++)
        for (int b = 0; b < node->ngpus; b++)
            s->twin[a][b] = twins(s, a, b);
    for (int i = 0; i < PARTS; i++)
        s->best_cost[i] = LONG_MAX;
    walk(s, 0, s->larger);
}

static bool agrees(const struct search *s, const struct plan *plan)
{
    const struct plan_cost *c = &plan->cost;
    const long near[PARTS] = {c->remote, c->hops, c->package_imbalance, c->numa_imbalance};
    const long wide[PARTS] = {c->package_imbalance, c->numa_imbalance, c->remote, c->hops};
    bool same = memcmp(s->spread ? wide : near, s->best_cost, sizeof near) == 0;

    for (int r = 0; r < s->nranks; r++)
        same &= plan->ranks[r].ngpus == 1 && plan->ranks[r].gpus[0] == s->best[r];
    return same;
}

static void show(const struct search *s, const struct plan *plan)
{
    for (int r = 0; r < s->nranks; r++)
        tap_diag("local rank %d: plan GPU %d, search GPU %d", r, plan->ranks[r].gpus[0],
                 s->best[r]);
    tap_diag("plan's cost: remote %ld, hops %ld, packages %ld, NUMA nodes %ld", plan->cost.remote,
             plan->cost.hops, plan->cost.package_imbalance, plan->cost.numa_imbalance);
    tap_diag("search's: %ld %ld %ld %ld", s->best_cost[0], s->best_cost[1], s->best_cost[2],
             s->best_cost[3]);
}

static bool check(const struct node *node, const struct job *job, bool spread)
{
    struct search s;
    struct policy policy;
    struct plan plan;
    struct gpubind_error err;
    bool good;

    policy_default(&policy);
    policy.gpus = spread ? POLICY_SPREAD : POLICY_CLOSEST;
    if (plan_make(node, job, &policy, &plan, &err) < 0) {
        tap_diag("plan_make: %s", err.text);
        return false;
    }
    search_best(node, job, spread, &s);
    good = agrees(&s, &plan);
    if (!good)
        show(&s, &plan);
    plan_clear(&plan);
    return good;
}

/* All rank counts under one binding, as one result. */
static void check_binding(struct dice *dice, const struct node *node, const char *title,
                          enum binding how, bool spread)
{
    int tries = how == BOUND_RANDOM ? 5 : 1, failed = 0;

    for (int nranks = 1; nranks <= MAX_RANKS; nranks++)
        for (int i = 0; i < tries; i++) {
            struct job job;

            job_unbound(node, nranks, &job);
            job_bind(dice, node, how, &job);
            if (!check(node, &job, spread) && failed++ == 0)
                tap_diag("... with %d ranks", nranks);
            job_clear(&job);
        }
    tap_ok(failed == 0, "%s, %s: 1 to %d ranks %s", title, spread ? "spread" : "closest", MAX_RANKS,
           binding_name(how));
}

static void check_random(struct dice *dice, int wanted)
{
    int failed = 0;

    for (int i = 0; i < wanted && failed < 3; i++) {
        struct node node;
        struct job job;

        node_random(dice, &node);
        if (node.ngpus) {
            job_unbound(&node, 1 + dice_below(dice, MAX_RANKS), &job);
            job_bind(dice, &node, (enum binding)dice_below(dice, BOUND_HOWS), &job);
            failed += !check(&node, &job, dice_once_in(dice, 2));
            job_clear(&job);
        }
        node_clear(&node);
    }
    tap_ok(failed == 0, "%d random nodes and jobs", wanted);
}

int main(void)
{
    struct dice dice = {dice_seed(20)};
    char **machines = machines_list();

    for (int m = 0; machines[m]; m++) {
        const char *title = machine_title(machines[m]);
        struct node node;

        machine_load(machines[m], &node);
        if (node.ngpus == 0 || node.ngpus > MAX_GPUS)
            tap_skip(title, "no GPU to assign, or more than the search can take");
        for (int how = 0; node.ngpus && node.ngpus <= MAX_GPUS && how < BOUND_HOWS; how++) {
            check_binding(&dice, &node, title, (enum binding)how, false);
            check_binding(&dice, &node, title, (enum binding)how, true);
        }
        node_clear(&node);
    }
    check_random(&dice, cases_wanted(1000));
    return tap_done();
}
