/* CUDA_VISIBLE_DEVICES and its relatives, written in every mode. */
#include <stdlib.h>

#include "core/env/visible_devices.h"
#include "tests/cases.h"
#include "tests/tap.h"

struct seen {
    struct node node;
    struct job job;
    struct plan plan;
};

/* nranks ranks on the four GPUs, the first nmasters of them masters. */
static void plan_ranks(struct seen *s, int nranks, int nmasters)
{
    struct policy policy;

    node_four(&s->node);
    job_unbound(&s->node, nranks, &s->job);
    for (int r = 0; r < nmasters; r++)
        s->job.ranks[r].master = true;
    policy_default(&policy);
    plan_make(&s->node, &s->job, &policy, &s->plan, NULL);
}

static void forget(struct seen *s)
{
    plan_clear(&s->plan);
    job_clear(&s->job);
    node_clear(&s->node);
}

static void writes(const struct seen *s, int local, enum visible_mode mode, const char *wanted)
{
    static const char *const names[] = {"own", "first", "ordered", "all"};
    struct text text = {0};
    char what[64];
    const struct visible_policy policy = {.mode = mode, .ids = IDS_INDEX};
    bool index = visible_render(&s->node, &s->plan, plan_find(&s->plan, local), &policy, &text);

    snprintf(what, sizeof what, "%s for local rank %d of %d", names[mode], local, s->plan.nranks);
    tap_is(text.bytes, wanted, what);
    if (!index)
        tap_ok(false, "%s are indices", what);
    text_clear(&text);
}

/* Entry (local mod number of entries) is the rank's own GPU. */
static void ordered_fits(const struct seen *s, const char *what)
{
    const struct visible_policy ordered = {.mode = VISIBLE_ORDERED, .ids = IDS_INDEX};
    int failed = 0;

    for (int r = 0; r < s->plan.nranks; r++) {
        const struct plan_rank *rank = &s->plan.ranks[r];
        struct text text = {0};
        int n = idset_count(&s->plan.used_gpus);

        if (!rank->ngpus)
            continue;
        visible_render(&s->node, &s->plan, rank, &ordered, &text);
        /* Indices of one digit with commas between them. */
        failed += (int)text.length != 2 * n - 1 ||
                  text.bytes[2 * (rank->local % n)] != '0' + rank->gpus[0];
        text_clear(&text);
    }
    tap_is_int(failed, 0, what);
}

static void writes_all(void)
{
    struct seen s;

    plan_ranks(&s, 4, 0);
    writes(&s, 2, VISIBLE_OWN, "2");
    writes(&s, 2, VISIBLE_FIRST, "2,0,1,3");
    writes(&s, 2, VISIBLE_ORDERED, "0,1,2,3");
    ordered_fits(&s, "ordered, a GPU for each");
    forget(&s);
    plan_ranks(&s, 4, 1);
    /* Local ranks 1 to 3 work. Two packages of two GPUs: 0 and 1 are taken, then
     * one of the other package; only the plan's GPUs are listed. */
    writes(&s, 1, VISIBLE_OWN, "0");
    writes(&s, 1, VISIBLE_ORDERED, "2,0,1");
    writes(&s, 2, VISIBLE_ORDERED, "2,0,1");
    ordered_fits(&s, "ordered beside a master");
    forget(&s);
    plan_ranks(&s, 9, 0);
    ordered_fits(&s, "ordered, nine ranks share four GPUs");
    forget(&s);
    plan_ranks(&s, 11, 2);
    ordered_fits(&s, "ordered, shared, beside two masters");
    forget(&s);
}

static void writes_identities(void)
{
    const struct visible_policy own = {.mode = VISIBLE_OWN}, first = {.mode = VISIBLE_FIRST};
    const struct visible_policy numbers = {.mode = VISIBLE_OWN, .ids = IDS_INDEX};
    struct seen s;
    struct text text = {0};
    bool index;

    plan_ranks(&s, 4, 0);
    index = visible_render(&s.node, &s.plan, &s.plan.ranks[1], &own, &text);
    tap_ok(!index && strcmp(text.bytes, s.node.gpus[1].uuid) == 0, "UUIDs are the default");
    text_clear(&text);
    s.node.gpus[3].uuid[0] = '\0';
    index = visible_render(&s.node, &s.plan, &s.plan.ranks[1], &first, &text);
    tap_ok(index && strcmp(text.bytes, "1,0,2,3") == 0,
           "one UUID that cannot be read: indices for all");
    text_clear(&text);
    for (int g = 0; g < 4; g++)
        s.node.gpus[g].mig = true;
    index = visible_render(&s.node, &s.plan, &s.plan.ranks[1], &numbers, &text);
    tap_ok(!index && strcmp(text.bytes, s.node.gpus[1].uuid) == 0,
           "MIG instances go by UUID even under --ids index");
    text_clear(&text);
    forget(&s);
    tap_is(visible_variable(GPU_AMD), "ROCR_VISIBLE_DEVICES", "AMD's variable");
    tap_is(visible_variable(GPU_INTEL), "ZE_AFFINITY_MASK", "Intel's variable");
    tap_is(visible_variable(VISIBLE_HIP), "HIP_VISIBLE_DEVICES", "HIP's variable");
}

static void sees(const struct seen *s, int local, enum visible_mode mode, enum visible_ids ids,
                 const char *wanted)
{
    static const char *const names[] = {"own", "first", "ordered", "all"};
    const struct visible_policy policy = {.mode = mode, .ids = ids};
    struct text text = {0};
    char what[64];

    visible_render(&s->node, &s->plan, plan_find(&s->plan, local), &policy, &text);
    snprintf(what, sizeof what, "%s, %s for local rank %d", names[mode],
             ids == IDS_UUID ? "UUIDs" : "indices", local);
    tap_is(text.bytes, wanted, what);
    text_clear(&text);
}

/* Whole GPUs are never shown beside instances: CUDA would open an instance. */
static void writes_beside_mig(void)
{
    struct policy policy;
    struct seen s;

    tap_ok(node_four_partitioned(&s.node) == 0, "two of four GPUs are partitioned");
    for (int g = 0; g < s.node.ngpus; g++)
        s.node.gpus[g].uuid[12] = '\0';
    job_unbound(&s.node, 7, &s.job);
    policy_default(&policy);
    policy.nmap = 7;
    for (int g = 0; g < 7; g++)
        policy.map[g] = g;
    plan_make(&s.node, &s.job, &policy, &s.plan, NULL);
    for (int mode = VISIBLE_OWN; mode <= VISIBLE_ORDERED; mode++) {
        sees(&s, 1, (enum visible_mode)mode, IDS_UUID, "MIG-aaaaaaaa");
        sees(&s, 2, (enum visible_mode)mode, IDS_INDEX, "MIG-bbbbbbbb");
    }
    sees(&s, 3, VISIBLE_OWN, IDS_UUID, "GPU-33333333");
    sees(&s, 3, VISIBLE_FIRST, IDS_UUID, "GPU-33333333,GPU-11111111");
    sees(&s, 3, VISIBLE_ORDERED, IDS_UUID, "GPU-11111111,GPU-33333333");
    sees(&s, 0, VISIBLE_ORDERED, IDS_UUID, "GPU-11111111,GPU-33333333");
    sees(&s, 3, VISIBLE_FIRST, IDS_INDEX, "2,0");
    forget(&s);
}

int main(void)
{
    writes_beside_mig();
    writes_all();
    writes_identities();
    return tap_done();
}
