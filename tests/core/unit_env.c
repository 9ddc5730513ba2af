/* From a plan to a rank's environment, and from that to orders and back. */
#include <stdlib.h>
#include <string.h>

#include "core/env/render_env.h"
#include "host/launch/rank_directives.h"
#include "tests/cases.h"
#include "tests/tap.h"

struct scene {
    struct node node;
    struct job job;
    struct plan plan;
    struct prefs prefs;
    struct env_list env;
};

/* Five ranks on two packages of two GPUs: 0 a master, 1 to 4 with a GPU each. */
static void set_up(struct scene *s, const struct policy *policy)
{
    static const int numa[] = {0, 0, 1, 1};
    const struct drawing drawing = {2, 1, 6, 2, 4, numa};

    memset(s, 0, sizeof *s);
    node_draw(&drawing, &s->node);
    job_unbound(&s->node, 5, &s->job);
    s->job.ranks[0].master = true;
    s->prefs.omp = true;
    if (plan_make(&s->node, &s->job, policy, &s->plan, NULL) < 0)
        tap_ok(false, "there is a plan");
}

static void tear_down(struct scene *s)
{
    env_list_clear(&s->env);
    plan_clear(&s->plan);
    job_clear(&s->job);
    node_clear(&s->node);
}

static void render(struct scene *s, int local)
{
    env_list_clear(&s->env);
    if (render_env(&s->node, &s->plan, plan_find(&s->plan, local), &s->prefs, "9.9", &s->env) < 0)
        tap_ok(false, "the environment is rendered");
}

/* "=VALUE", "?VALUE", "-" as in orders; NULL when the variable is not mentioned. */
static const char *item(const struct env_list *list, const char *name)
{
    static char text[1024];

    for (int i = 0; i < list->n; i++)
        if (strcmp(list->item[i].name, name) == 0) {
            snprintf(text, sizeof text, "%c%s", "=?-"[list->item[i].how],
                     list -> item[i].value ? list->item[i].value : "");
            return text;
        }
    return NULL;
}

static void has(const struct scene *s, const char *name, const char *wanted)
{
    tap_is(item(&s->env, name), wanted, name);
}

static void worker(void)
{
    struct policy policy;
    struct scene s;
    char uuid[128];

    policy_default(&policy);
    set_up(&s, &policy);
    render(&s, 1);
    snprintf(uuid, sizeof uuid, "=%s", s.node.gpus[0].uuid);
    has(&s, "GPUBIND_ROLE", "=gpu");
    has(&s, "GPUBIND_GPU_UUID", uuid);
    has(&s, "GPUBIND_GPU_PCI", "=0000:10:00.0");
    has(&s, "CUDA_VISIBLE_DEVICES", uuid);
    has(&s, "GPUBIND_VISIBLE_DEVICES", uuid);
    has(&s, "CUDA_DEVICE_ORDER", NULL);
    has(&s, "GPUBIND_LOCAL_RANK", "=1");
    has(&s, "GPUBIND_VERSION", "=9.9");
    has(&s, "GPUBIND_NIC", "=");
    has(&s, "GPUBIND_NUMA", "=0");
    has(&s, "NCCL_IB_HCA", NULL);
    tap_is_int((long)strlen(item(&s.env, "GPUBIND_PLAN")), 17, "GPUBIND_PLAN has 16 digits");
    tap_ok(strspn(item(&s.env, "GPUBIND_PLAN") + 1, "0123456789abcdef") == 16,
           "... of lower-case hex");
    tear_down(&s);
}

static void without_gpu(void)
{
    struct policy policy;
    struct scene s;

    policy_default(&policy);
    set_up(&s, &policy);
    for (int mode = VISIBLE_OWN; mode <= VISIBLE_ALL; mode++) {
        s.prefs.visible = (enum visible_mode)mode;
        render(&s, 0);
        has(&s, "CUDA_VISIBLE_DEVICES", "=");
    }
    has(&s, "GPUBIND_ROLE", "=master");
    has(&s, "GPUBIND_GPU_UUID", "=");
    has(&s, "GPUBIND_GPU_PCI", "=");
    tear_down(&s);
}

static void choices(void)
{
    struct policy policy;
    struct scene s;

    policy_default(&policy);
    set_up(&s, &policy);
    s.prefs.ids = IDS_INDEX;
    render(&s, 3);
    has(&s, "CUDA_VISIBLE_DEVICES", "=2");
    has(&s, "CUDA_DEVICE_ORDER", "=PCI_BUS_ID");
    s.prefs.visible = VISIBLE_ALL;
    render(&s, 3);
    has(&s, "CUDA_VISIBLE_DEVICES", NULL);
    has(&s, "GPUBIND_VISIBLE_DEVICES", "-");
    for (int g = 0; g < 4; g++)
        s.node.gpus[g].vendor = GPU_AMD;
    s.prefs = (struct prefs){.omp = true};
    render(&s, 3);
    tap_ok(item(&s.env, "ROCR_VISIBLE_DEVICES") != NULL, "AMD's GPUs go by AMD's variable");
    has(&s, "HIP_VISIBLE_DEVICES", "-");
    has(&s, "CUDA_VISIBLE_DEVICES", "-");
    has(&s, "ZE_FLAT_DEVICE_HIERARCHY", NULL);
    s.prefs.visible = VISIBLE_ALL;
    render(&s, 3);
    has(&s, "HIP_VISIBLE_DEVICES", NULL);
    render(&s, 0);
    has(&s, "ROCR_VISIBLE_DEVICES", "=");
    for (int g = 0; g < 4; g++) {
        s.node.gpus[g].vendor = GPU_INTEL;
        s.node.gpus[g].part = g % 2;
        s.node.gpus[g].ze[0] = s.node.gpus[g].ze[1] = (struct ze_number){g / 2, g};
    }
    render(&s, 0);
    has(&s, "ZE_AFFINITY_MASK", "=65535");
    has(&s, "GPUBIND_VISIBLE_DEVICES", "=65535");
    s.prefs.visible = VISIBLE_FIRST;
    render(&s, 3);
    has(&s, "ZE_AFFINITY_MASK", "=2");
    has(&s, "ZE_FLAT_DEVICE_HIERARCHY", "?FLAT");
    s.prefs.ze.composite = true;
    render(&s, 3);
    has(&s, "ZE_AFFINITY_MASK", "=1.0");
    tear_down(&s);
}

static void threads(void)
{
    struct policy policy;
    struct scene s;

    policy_default(&policy);
    set_up(&s, &policy);
    render(&s, 1);
    has(&s, "OMP_PLACES", "?cores");
    tap_is_int(atoi(item(&s.env, "OMP_NUM_THREADS") + 1), s.plan.ranks[1].ncores,
               "a thread a core");
    s.prefs.omp = false;
    render(&s, 1);
    has(&s, "OMP_NUM_THREADS", NULL);
    has(&s, "OMP_PLACES", NULL);
    tear_down(&s);
    policy.smt = 2;
    set_up(&s, &policy);
    render(&s, 1);
    tap_is_int(atoi(item(&s.env, "OMP_NUM_THREADS") + 1), idset_count(&s.plan.ranks[1].cpus),
               "--smt 2: a thread a hardware thread");
    has(&s, "OMP_PLACES", "?threads");
    tear_down(&s);
    policy.bind = BIND_NONE;
    set_up(&s, &policy);
    render(&s, 1);
    has(&s, "OMP_NUM_THREADS", NULL);
    has(&s, "GPUBIND_NUMA", "-");
    tear_down(&s);
}

static void nics(void)
{
    struct policy policy;
    struct scene s;
    struct nic nic = {.name = "mlx5_3"};

    policy_default(&policy);
    set_up(&s, &policy);
    s.node.nics[0] = nic;
    s.node.nnics = 1;
    s.plan.ranks[1].nic = 0;
    render(&s, 1);
    has(&s, "GPUBIND_NIC", "=mlx5_3");
    has(&s, "UCX_NET_DEVICES", NULL);
    s.prefs.nic = NIC_UCX;
    render(&s, 1);
    has(&s, "UCX_NET_DEVICES", "?mlx5_3:1");
    s.prefs.nic = NIC_OFI;
    render(&s, 1);
    has(&s, "FI_VERBS_DEVICE_NAME", "?mlx5_3");
    s.prefs.nic = NIC_NONE;
    render(&s, 1);
    has(&s, "GPUBIND_NIC", "=");
    has(&s, "NCCL_IB_HCA", NULL);
    s.node.nnics = 0;
    tear_down(&s);
}

/* Orders travel as bytes; what the user set survives a default, nothing else. */
static void orders(void)
{
    struct env_list env = {4,
                           {{ENV_SET, "GPUBIND_T_SET", strdup("new value, with = and ,")},
                            {ENV_DEFAULT, "GPUBIND_T_MINE", strdup("not this")},
                            {ENV_DEFAULT, "GPUBIND_T_FREE", strdup("this")},
                            {ENV_UNSET, "GPUBIND_T_GONE", NULL}}};
    struct plan plan = {0};
    struct plan_rank rank = {0};
    struct text text = {0}, notes = {0};
    struct gpubind_error err = {""};

    setenv("GPUBIND_T_SET", "old", 1);
    setenv("GPUBIND_T_MINE", "mine", 1);
    unsetenv("GPUBIND_T_FREE");
    setenv("GPUBIND_T_GONE", "here", 1);
    directives_render(&plan, &rank, false, &env, &text);
    tap_is_int(directives_apply(text.bytes, text.length, &notes, &err), 0, "orders are followed");
    tap_is(getenv("GPUBIND_T_SET"), "new value, with = and ,", "set");
    tap_is(getenv("GPUBIND_T_MINE"), "mine", "set unless the user did: the user did");
    tap_is(getenv("GPUBIND_T_FREE"), "this", "set unless the user did: nobody did");
    tap_is(getenv("GPUBIND_T_GONE"), NULL, "unset");
    tap_ok(notes.length == 0, "nothing to remark");
    text_clear(&text);
    plan.bind_cpus = plan.bind_memory = true;
    idset_add(&rank.cpus, 3);
    idset_add(&rank.numas, 1);
    directives_render(&plan, &rank, true, &(struct env_list){0}, &text);
    tap_ok(text.length == 16 && memcmp(text.bytes, "cpus=3\0memory=1", 16) == 0,
           "CPUs and memory come first");
    text_clear(&text);
    text_clear(&notes);
    env_list_clear(&env);
}

/* Containers refuse memory policies; the kernel refuses a NUMA node that there is not. */
static void memory_that_cannot_be(void)
{
    static const char refused[] = "memory=1000\0=GPUBIND_NUMA=1000";
    struct text notes = {0};
    struct gpubind_error err = {""};

    setenv("GPUBIND_LOCAL_RANK", "1", 1);
    tap_is_int(directives_apply(refused, sizeof refused, &notes, &err), 0, "memory not bound");
    tap_is(getenv("GPUBIND_NUMA"), NULL, "... which the program can see");
    tap_ok(notes.length == 0, "... and local rank 1 says nothing");
    setenv("GPUBIND_LOCAL_RANK", "0", 1);
    tap_is_int(directives_apply(refused, sizeof refused, &notes, &err), 0, "memory not bound");
    tap_ok(notes.bytes &&
               strstr(notes.bytes, "cannot bind to memory of NUMA nodes 1000: ") == notes.bytes,
           "... local rank 0 says so");
    text_clear(&notes);
    unsetenv("GPUBIND_LOCAL_RANK");
}

int main(void)
{
    worker();
    without_gpu();
    choices();
    threads();
    nics();
    orders();
    memory_that_cannot_be();
    return tap_done();
}
