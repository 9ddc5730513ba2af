/* CUDA_VISIBLE_DEVICES: read as the driver reads it, written in every mode. */
#include <stdlib.h>

#include "core/visible.h"
#include "tests/cases.h"
#include "tests/tap.h"

/* UUIDs begin with GPU-11111111, GPU-22222222, ... */
static void four_gpus(struct node *node)
{
    static const int numa[] = {0, 0, 1, 1};
    const struct drawing drawing = {2, 1, 4, 1, 4, numa};

    node_draw(&drawing, node);
}

/* Wanted: the positions seen; bad: the entry that ends the list, NULL for none. */
static void reads(const struct node *node, const char *value, const char *wanted,
                  const char *bad)
{
    struct idset gpus;
    const char *got_bad = visible_parse(node, value, &gpus);
    char *got = idlist_text(&gpus);
    bool same_end = bad ? got_bad && strcmp(got_bad, bad) == 0 : !got_bad;

    if (!tap_ok(strcmp(got, wanted) == 0 && same_end, "'%s' is read", value))
        tap_diag("got %s, ended by %s; wanted %s, ended by %s", got,
                 got_bad ? got_bad : "nothing", wanted, bad ? bad : "nothing");
    free(got);
}

static void reads_all(void)
{
    struct node node;

    four_gpus(&node);
    reads(&node, "", "", NULL);
    reads(&node, "0", "0", NULL);
    reads(&node, "2,0", "0,2", NULL);
    reads(&node, "0,1,2,3", "0-3", NULL);
    reads(&node, "-1", "", "-1");
    reads(&node, "0,-1,1", "0", "-1,1");
    reads(&node, "1,4,2", "1", "4,2");
    reads(&node, "0,0,1", "", "0,1");
    reads(&node, "2,GPU-1111", "2", "GPU-1111");
    reads(&node, "1a,2x", "1-2", NULL);
    reads(&node, "0x1", "0", NULL);
    reads(&node, "1,,2", "1", ",2");
    reads(&node, "99999999999999999999", "", "99999999999999999999");
    reads(&node, " 1, 2", "1-2", NULL);
    reads(&node, "NoDevFiles", "", "NoDevFiles");
    reads(&node, node.gpus[2].uuid, "2", NULL);
    reads(&node, "GPU-2222", "1", NULL);
    reads(&node, "gpu-2222", "", "gpu-2222");
    reads(&node, "GPU-3333,0,GPU-1", "2", "0,GPU-1");
    reads(&node, "GPU-3333,GPU-1111", "0,2", NULL);
    reads(&node, "GPU-3333,GPU-33", "", "GPU-33");
    reads(&node, "GPU-", "", "GPU-");
    reads(&node, "GPU-5", "", "GPU-5");
    snprintf(node.gpus[3].uuid, sizeof node.gpus[3].uuid, "GPU-22222229-0000");
    reads(&node, "GPU-2222222", "", "GPU-2222222");
    reads(&node, "GPU-22222229", "3", NULL);
    node_clear(&node);
}

static void reads_mig(void)
{
    char uuids[2][96] = {"MIG-aaaaaaaa-1", "MIG-bbbbbbbb-2"};
    struct node node;

    four_gpus(&node);
    tap_is_int(node_partition(&node, 0, uuids, 2, NULL), 0, "GPU 0 becomes two instances");
    node_number(&node);
    reads(&node, "MIG-aaaaaaaa-1", "0", NULL);
    reads(&node, "MIG-b", "1", NULL);
    reads(&node, "MIG-cccccccc-3", "", "MIG-cccccccc-3");
    node_clear(&node);
}

struct seen {
    struct node node;
    struct job job;
    struct plan plan;
};

/* nranks ranks on the four GPUs, the first nmasters of them masters. */
static void plan_ranks(struct seen *s, int nranks, int nmasters)
{
    struct policy policy;

    four_gpus(&s->node);
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
    bool index = visible_render(&s->node, &s->plan, plan_find(&s->plan, local), mode, IDS_INDEX,
                                &text);

    snprintf(what, sizeof what, "%s for local rank %d of %d", names[mode], local, s->plan.nranks);
    tap_is(text.bytes, wanted, what);
    if (!index)
        tap_ok(false, "%s are indices", what);
    text_clear(&text);
}

/* Entry (local mod number of entries) is the rank's own GPU. */
static void ordered_fits(const struct seen *s, const char *what)
{
    int failed = 0;

    for (int r = 0; r < s->plan.nranks; r++) {
        const struct plan_rank *rank = &s->plan.ranks[r];
        struct text text = {0};
        int n = idset_count(&s->plan.used_gpus);

        if (!rank->ngpus)
            continue;
        visible_render(&s->node, &s->plan, rank, VISIBLE_ORDERED, IDS_INDEX, &text);
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
    struct seen s;
    struct text text = {0};
    bool index;

    plan_ranks(&s, 4, 0);
    index = visible_render(&s.node, &s.plan, &s.plan.ranks[1], VISIBLE_OWN, IDS_UUID, &text);
    tap_ok(!index && strcmp(text.bytes, s.node.gpus[1].uuid) == 0, "UUIDs are the default");
    text_clear(&text);
    s.node.gpus[3].uuid[0] = '\0';
    index = visible_render(&s.node, &s.plan, &s.plan.ranks[1], VISIBLE_FIRST, IDS_UUID, &text);
    tap_ok(index && strcmp(text.bytes, "1,0,2,3") == 0,
           "one UUID that cannot be read: indices for all");
    text_clear(&text);
    for (int g = 0; g < 4; g++)
        s.node.gpus[g].mig = true;
    index = visible_render(&s.node, &s.plan, &s.plan.ranks[1], VISIBLE_OWN, IDS_INDEX, &text);
    tap_ok(!index && strcmp(text.bytes, s.node.gpus[1].uuid) == 0,
           "MIG instances go by UUID even under --ids index");
    text_clear(&text);
    forget(&s);
    tap_is(visible_variable(GPU_AMD), "ROCR_VISIBLE_DEVICES", "AMD's variable");
    tap_is(visible_variable(GPU_INTEL), "ZE_AFFINITY_MASK", "Intel's variable");
}

int main(void)
{
    reads_all();
    reads_mig();
    writes_all();
    writes_identities();
    return tap_done();
}
