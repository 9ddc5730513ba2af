/* What an MPS server is to do for a plan: sharers, the server's GPUs, refusals. */
#include <stdlib.h>

#include "core/env/mps_env.h"
#include "tests/cases.h"
#include "tests/tap.h"

static void give_up(const char *why)
{
    printf("Bail out! %s\n", why);
    exit(1);
}

/* A node of four GPUs, and the plan for so many ranks on it. */
static void plan_four(struct node *node, struct plan *plan, int nranks, int gpus_per_rank)
{
    static const int numa[] = {0, 0, 1, 1};
    const struct drawing drawing = {2, 1, 8, 1, 4, numa};
    struct gpubind_error err;
    struct policy policy;
    struct job job;

    node_draw(&drawing, node);
    snprintf(node->name, sizeof node->name, "here");
    policy_default(&policy);
    policy.gpus_per_rank = gpus_per_rank;
    if (job_make(&job, nranks, &err) < 0)
        give_up(err.text);
    for (int r = 0; r < nranks; r++) {
        job.ranks[r].rank = job.ranks[r].local = r;
        node_pus(node, &job.ranks[r].cpus);
    }
    if (plan_make(node, &job, &policy, plan, &err) < 0)
        give_up(err.text);
    job_clear(&job);
}

static void clear(struct node *node, struct plan *plan)
{
    plan_clear(plan);
    node_clear(node);
}

static void counts_sharers(void)
{
    struct node node;
    struct plan plan;
    int all = 0;

    plan_four(&node, &plan, 4, 1);
    tap_ok(!mps_is_shared(&plan), "a GPU each: nothing is shared");
    clear(&node, &plan);
    plan_four(&node, &plan, 5, 1);
    for (int r = 0; r < 5; r++)
        all += mps_sharers(&plan, &plan.ranks[r]);
    tap_ok(mps_is_shared(&plan) && all == 7, "five ranks: one GPU is shared by two");
    plan.ranks[0].ngpus = 0;
    tap_ok(mps_sharers(&plan, &plan.ranks[0]) == 0, "a rank without a GPU shares nothing");
    clear(&node, &plan);
    plan_four(&node, &plan, 4, 2);
    tap_ok(mps_sharers(&plan, &plan.ranks[3]) == 2, "sets that are shared");
    clear(&node, &plan);
}

/* The number that local rank 0 of n ranks on four GPUs is told in a variable, unless it is set; 0: none. */
static int told(const char *name, int nranks)
{
    struct env_list env = {0};
    struct node node;
    struct plan plan;
    int value = 0;

    plan_four(&node, &plan, nranks, 1);
    if (mps_render_env(&plan, &plan.ranks[0], "/pipe", "", &env) < 0)
        give_up("out of memory");
    for (int i = 0; i < env.n; i++)
        if (strcmp(env.item[i].name, name) == 0)
            value = env.item[i].how == ENV_DEFAULT ? atoi(env.item[i].value) : -1;
    env_list_clear(&env);
    clear(&node, &plan);
    return value;
}

static int percentage(int nranks)
{
    return told("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", nranks);
}

static int connections(int nranks)
{
    return told("CUDA_DEVICE_MAX_CONNECTIONS", nranks);
}

static void renders_shares(void)
{
    tap_ok(percentage(4) == 0, "alone: no percentage");
    tap_ok(percentage(8) == 50, "two: half");
    tap_ok(percentage(12) == 33, "three: rounded down");
    tap_ok(percentage(640) == 1, "very many: at least one");
    tap_ok(connections(1) == 8 && connections(8) == 8, "up to eight clients: eight connections");
    tap_ok(connections(16) == 4 && connections(21) == 3, "of more each has a part of 64");
    tap_ok(connections(32) == 0, "as few as by default: not set");
}

/* What mps_check_gpus says of eight ranks on four GPUs of which the first is changed;
 * "": nothing. */
static const char *judged(enum gpu_vendor vendor, bool mig, int ngpus)
{
    static struct gpubind_error err;
    struct node node;
    struct plan plan;
    int had;

    plan_four(&node, &plan, 8, 1);
    had = node.ngpus;
    node.gpus[0].vendor = vendor;
    node.gpus[0].mig = mig;
    node.ngpus = ngpus;
    err.text[0] = '\0';
    mps_check_gpus(&node, &plan, &err);
    node.ngpus = had;
    clear(&node, &plan);
    return err.text;
}

static void judges_gpus(void)
{
    struct node node;
    struct plan plan;

    tap_ok(!*judged(GPU_NVIDIA, false, 4), "NVIDIA GPUs can be shared");
    tap_ok(strstr(judged(GPU_AMD, false, 4), "here has no NVIDIA GPU") != NULL, "others cannot");
    tap_ok(strstr(judged(GPU_NVIDIA, false, 0), "no NVIDIA GPU") != NULL, "none cannot");
    tap_ok(strstr(judged(GPU_NVIDIA, true, 4), "MIG") != NULL, "instances beside others cannot");
    plan_four(&node, &plan, 1, 1);
    plan.ranks[0].role = ROLE_MASTER;
    plan.ranks[0].ngpus = node.ngpus = 0;
    tap_ok(mps_check_gpus(&node, &plan, NULL) == 0, "a node of masters needs none");
    node.ngpus = 4;
    clear(&node, &plan);
}

static bool may(enum visible_mode visible, enum visible_ids ids, bool kept, const char *left)
{
    const struct prefs prefs = {.visible = visible, .ids = ids};
    const struct plan_rank rank = {.ngpus = 1, .kept = kept};

    return mps_check_visible(&rank, &prefs, left, NULL) == 0;
}

static void judges_sight(void)
{
    const struct prefs index = {.ids = IDS_INDEX};
    const struct plan_rank idle = {.role = ROLE_IDLE};

    tap_ok(may(VISIBLE_OWN, IDS_UUID, false, NULL), "UUIDs mean the same under a server");
    tap_ok(!may(VISIBLE_OWN, IDS_INDEX, false, NULL), "indices do not");
    tap_ok(may(VISIBLE_ALL, IDS_INDEX, false, NULL), "nor do they matter where none is written");
    tap_ok(!may(VISIBLE_ALL, IDS_UUID, false, "0,2"), "or are left to the program");
    tap_ok(may(VISIBLE_ALL, IDS_UUID, false, " GPU-0,GPU-1"), "UUIDs may be left");
    tap_ok(!may(VISIBLE_OWN, IDS_UUID, true, "1"), "indices that somebody dealt out");
    tap_ok(mps_check_visible(&idle, &index, "0", NULL) == 0, "who has no GPU sees none");
}

static void names_gpus(void)
{
    struct text text = {0};
    struct idset gpus;
    struct node node;
    struct plan plan;
    int status;

    plan_four(&node, &plan, 1, 1);
    mps_gpus(&node, &plan, false, &gpus);
    tap_ok(idset_count(&gpus) == 1, "the server has the GPUs that ranks have");
    mps_gpus(&node, &plan, true, &gpus);
    tap_ok(idset_count(&gpus) == 4, "or all");
    node.gpus[plan.ranks[0].gpus[0]].mig = true;
    mps_gpus(&node, &plan, true, &gpus);
    tap_ok(idset_count(&gpus) == 1, "but an instance alone");
    idset_clear(&gpus);
    idset_add(&gpus, 1);
    idset_add(&gpus, 2);
    status = mps_devices(&node, &gpus, &text, NULL);
    tap_ok(status == 0 && strncmp(text.bytes, "GPU-22222222", 12) == 0 &&
               strstr(text.bytes, ",GPU-33333333"),
           "by UUID, in the node's order");
    text_clear(&text);
    node.gpus[2].uuid[0] = '\0';
    tap_ok(mps_devices(&node, &gpus, &text, NULL) < 0, "a GPU without one cannot be named");
    text_clear(&text);
    clear(&node, &plan);
}

int main(void)
{
    counts_sharers();
    renders_shares();
    judges_gpus();
    judges_sight();
    names_gpus();
    return tap_done();
}
