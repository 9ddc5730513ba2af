/* --gpus-per-rank: sets of GPUs that are close to each other. */
#include <stdlib.h>
#include <string.h>

#include "tests/cases.h"
#include "tests/tap.h"

/* A node whose GPU g lies on the island island[g]; each island is linked. */
static void make_islands(int ngpus, const int *island, struct node *node)
{
    static const int numa[NODE_MAX_GPUS];
    const struct drawing drawing = {1, 1, 32, 1, ngpus, numa};

    node_draw(&drawing, node);
    for (int a = 0; a < ngpus; a++)
        for (int b = 0; b < ngpus; b++)
            node->link[a * ngpus + b] = a != b && island[a] == island[b] ? 50000 : 0;
}

/* As many sets as fit without straddling; all of them when none is wanted. */
static bool avoidable(int ngpus, const int *island, int size)
{
    int nsets = 0;

    for (int i = 0; i < ngpus; i++) {
        int members = 0;

        for (int g = 0; g < ngpus; g++)
            members += island[g] == i;
        nsets += members / size;
    }
    return nsets >= ngpus / size;
}

static int straddling(const struct plan *plan, const int *island)
{
    int n = 0;

    for (int r = 0; r < plan->nranks; r++) {
        bool straddles = false;

        for (int i = 1; i < plan->ranks[r].ngpus; i++)
            straddles |= island[plan->ranks[r].gpus[i]] != island[plan->ranks[r].gpus[0]];
        n += straddles;
    }
    return n;
}

/* The number of sets that straddle islands when there are as many ranks as sets. */
static int plan_islands(int ngpus, const int *island, int size)
{
    struct node node;
    struct job job;
    struct policy policy;
    struct plan plan;
    struct gpubind_error err;
    int n;

    make_islands(ngpus, island, &node);
    job_unbound(&node, ngpus / size, &job);
    policy_default(&policy);
    policy.gpus_per_rank = size;
    if (plan_make(&node, &job, &policy, &plan, &err) < 0)
        tap_ok(false, "%s", err.text);
    n = straddling(&plan, island);
    plan_clear(&plan);
    job_clear(&job);
    node_clear(&node);
    return n;
}

static void try_random(struct dice *dice, int wanted)
{
    int failed = 0;

    for (int i = 0; i < wanted; i++) {
        int ngpus = 2 + dice_below(dice, 15), size = 2 + dice_below(dice, 4);
        int island[NODE_MAX_GPUS];

        for (int g = 0; g < ngpus; g++)
            island[g] = dice_below(dice, 2 + i % 2);
        if (size > ngpus || !avoidable(ngpus, island, size) ||
            plan_islands(ngpus, island, size) == 0)
            continue;
        if (failed++)
            continue;
        tap_diag("sets of %d; islands of GPUs 0 to %d:", size, ngpus - 1);
        for (int g = 0; g < ngpus; g++)
            tap_diag("  GPU %d: island %d", g, island[g]);
    }
    tap_ok(failed == 0, "no set straddles islands where that can be avoided (%d of %d cases fail)",
           failed, wanted);
}

/* Two packages of two GPUs without links: PCI and NUMA decide. */
static void try_without_links(void)
{
    static const int numa[] = {0, 1, 0, 1};
    const struct drawing drawing = {2, 1, 4, 1, 4, numa};
    struct node node;
    struct job job;
    struct policy policy;
    struct plan plan;
    struct gpubind_error err;

    node_draw(&drawing, &node);
    job_unbound(&node, 2, &job);
    policy_default(&policy);
    policy.gpus_per_rank = 2;
    tap_is_int(plan_make(&node, &job, &policy, &plan, &err), 0, "two ranks of two GPUs");
    tap_ok(plan.ranks[0].gpus[0] == 0 && plan.ranks[0].gpus[1] == 2 && plan.ranks[1].gpus[0] == 1 &&
               plan.ranks[1].gpus[1] == 3,
           "a set lies in one package");
    plan_clear(&plan);
    job_clear(&job);
    node_clear(&node);
}

/* The GPUs of the plan that other jobs have, when as many sets are wanted as the
 * others make up. */
static int plan_beside(int ngpus, const int *island, const int *busy, int size)
{
    struct node node;
    struct job job;
    struct policy policy;
    struct plan plan;
    struct gpubind_error err;
    int n = 0, nfree = 0;

    for (int g = 0; g < ngpus; g++)
        nfree += !busy[g];
    if (nfree < size)
        return 0;
    make_islands(ngpus, island, &node);
    job_unbound(&node, nfree / size, &job);
    memcpy(job.busy, busy, (size_t)ngpus * sizeof *busy);
    policy_default(&policy);
    policy.gpus_per_rank = size;
    if (plan_make(&node, &job, &policy, &plan, &err) < 0)
        tap_ok(false, "%s", err.text);
    for (int r = 0; r < plan.nranks; r++)
        for (int i = 0; i < plan.ranks[r].ngpus; i++)
            n += busy[plan.ranks[r].gpus[i]] > 0;
    plan_clear(&plan);
    job_clear(&job);
    node_clear(&node);
    return n;
}

static void try_busy(struct dice *dice, int wanted)
{
    int failed = 0;

    for (int i = 0; i < wanted; i++) {
        int ngpus = 2 + dice_below(dice, 15), size = 1 + dice_below(dice, 4);
        int island[NODE_MAX_GPUS], busy[NODE_MAX_GPUS];

        for (int g = 0; g < ngpus; g++) {
            island[g] = dice_below(dice, 2);
            busy[g] = dice_below(dice, 3);
        }
        failed += size <= ngpus && plan_beside(ngpus, island, busy, size) > 0;
    }
    tap_ok(failed == 0,
           "no set has a GPU of other jobs where that can be avoided (%d of %d "
           "cases fail)",
           failed, wanted);
}

int main(void)
{
    static const int two_of_four[] = {0, 0, 0, 0, 1, 1, 1, 1};
    static const int mixed[] = {0, 1, 0, 1, 1, 0, 1, 0};
    static const int one_missing[] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    static const int one_each[] = {0, 0, 1, 1}, first_of_each[] = {1, 0, 1, 0};
    struct dice dice = {dice_seed(4)};

    tap_is_int(plan_islands(8, two_of_four, 2), 0, "two islands of four, pairs");
    tap_is_int(plan_islands(8, two_of_four, 4), 0, "two islands of four, sets of four");
    tap_is_int(plan_islands(8, mixed, 2), 0, "two islands whose addresses alternate, pairs");
    tap_is_int(plan_islands(8, two_of_four, 3), 0, "two islands of four, sets of three");
    tap_is_int(plan_islands(15, one_missing, 4), 0,
               "islands of eight, one GPU withheld, sets of four");
    try_without_links();
    tap_is_int(plan_beside(4, one_each, first_of_each, 2), 0, "one GPU of each pair is left");
    try_busy(&dice, cases_wanted(1000));
    try_random(&dice, cases_wanted(1000));
    return tap_done();
}
