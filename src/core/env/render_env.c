/* A rank's part of the plan as environment variables. */
#include "core/env/render_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes over what value holds. */
static void add_text(struct env_list *list, enum env_how how, const char *name, struct text *value)
{
    list->item[list->n++] = (struct env_item){how, name, value->bytes};
    memset(value, 0, sizeof *value);
}

static void add(struct env_list *list, enum env_how how, const char *name, const char *value)
{
    struct text text = {0};

    text_add(&text, "%s", value);
    add_text(list, how, name, &text);
}

static void add_unset(struct env_list *list, const char *name)
{
    list->item[list->n++] = (struct env_item){ENV_UNSET, name, NULL};
}

static void add_number(struct env_list *list, enum env_how how, const char *name, long number)
{
    struct text text = {0};

    text_add(&text, "%ld", number);
    add_text(list, how, name, &text);
}

static void add_set(struct env_list *list, const char *name, const struct idset *set)
{
    struct text text = {0};
    char *ids = idlist_text(set);

    if (ids)
        text_add(&text, "%s", ids);
    free(ids);
    add_text(list, ENV_SET, name, &text);
}

const struct env_above env_above_rocm[ENV_ABOVE_ROCM] = {
    {"HIP_VISIBLE_DEVICES", "GPUBIND_OUTER_HIP_VISIBLE_DEVICES"},
    {"CUDA_VISIBLE_DEVICES", "GPUBIND_OUTER_CUDA_VISIBLE_DEVICES"},
    {"GPU_DEVICE_ORDINAL", "GPUBIND_OUTER_GPU_DEVICE_ORDINAL"},
};

/* What else decides how the value is understood. */
static void add_order(const struct node *node, enum gpu_vendor vendor, bool by_index,
                      struct env_list *list)
{
    if (by_index)
        add(list, ENV_SET, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    /* What they were is part of the plan. */
    for (int i = 0; vendor == GPU_AMD && i < ENV_ABOVE_ROCM; i++)
        add_unset(list, env_above_rocm[i].name);
    /* Drivers of before 2023 count cards by default. */
    for (int g = 0; vendor == GPU_INTEL && g < node->ngpus; g++)
        if (node->gpus[g].part >= 0) {
            add(list, ENV_DEFAULT, "ZE_FLAT_DEVICE_HIERARCHY", "FLAT");
            return;
        }
}

static void add_visible(const struct node *node, const struct plan *plan,
                        const struct plan_rank *rank, const struct prefs *prefs,
                        struct env_list *list)
{
    enum gpu_vendor vendor = node->ngpus ? node->gpus[0].vendor : GPU_NVIDIA;
    const struct visible_policy policy = {prefs->visible, prefs->ids, prefs->ze};
    const char *variable = visible_variable(vendor);
    struct text value = {0};
    bool by_index = false;

    if (rank->kept || (rank->ngpus && prefs->visible == VISIBLE_ALL)) {
        add_unset(list, "GPUBIND_VISIBLE_DEVICES");
        return;
    }
    text_add(&value, "%s", "");
    if (rank->ngpus)
        by_index = visible_render(node, plan, rank, &policy, &value);
    else
        text_add(&value, "%s", visible_nothing(vendor));
    add(list, ENV_SET, "GPUBIND_VISIBLE_DEVICES", value.bytes ? value.bytes : "");
    add_text(list, ENV_SET, variable, &value);
    add_order(node, vendor, by_index, list);
}

static void add_gpus(const struct node *node, const struct plan_rank *rank, struct env_list *list)
{
    struct text uuids = {0}, pcis = {0};

    text_add(&uuids, "%s", "");
    text_add(&pcis, "%s", "");
    for (int i = 0; i < rank->ngpus; i++) {
        text_add(&uuids, "%s%s", i ? "," : "", node->gpus[rank->gpus[i]].uuid);
        text_add(&pcis, "%s%s", i ? "," : "", node->gpus[rank->gpus[i]].pci);
    }
    add_text(list, ENV_SET, "GPUBIND_GPU_UUID", &uuids);
    add_text(list, ENV_SET, "GPUBIND_GPU_PCI", &pcis);
}

/* UCX wants a port behind the name. libfabric's providers have a variable each;
 * those of Slingshot and verbs are known. */
static void add_nic(const struct node *node, const struct plan_rank *rank,
                    const struct prefs *prefs, struct env_list *list)
{
    const char *name = rank->nic < 0 || prefs->nic == NIC_NONE ? "" : node->nics[rank->nic].name;
    struct text port = {0};

    add(list, ENV_SET, "GPUBIND_NIC", name);
    if (!*name)
        return;
    if (prefs->nic == NIC_UCX) {
        const int active = node->nics[rank->nic].port;

        text_add(&port, "%s:%d", name, active ? active : 1);
        add_text(list, ENV_DEFAULT, "UCX_NET_DEVICES", &port);
    } else if (prefs->nic == NIC_OFI) {
        add(list, ENV_DEFAULT,
            strncmp(name, "cxi", 3) == 0 ? "FI_CXI_DEVICE_NAME" : "FI_VERBS_DEVICE_NAME", name);
    }
}

static void add_cpus(const struct plan *plan, const struct plan_rank *rank,
                     const struct prefs *prefs, struct env_list *list)
{
    int npus = idset_count(&rank->cpus);

    add_set(list, "GPUBIND_CPUS", &rank->cpus);
    if (plan->bind_memory)
        add_set(list, "GPUBIND_NUMA", &rank->numas);
    else
        add_unset(list, "GPUBIND_NUMA");
    if (!prefs->omp || !plan->bind_cpus)
        return;
    /* One thread a core; more only when the user asked for more PUs a core. */
    add_number(list, ENV_DEFAULT, "OMP_NUM_THREADS", plan->smt > 1 ? npus : rank->ncores);
    add(list, ENV_DEFAULT, "OMP_PLACES", plan->smt > 1 ? "threads" : "cores");
}

int render_env(const struct node *node, const struct plan *plan, const struct plan_rank *rank,
               const struct prefs *prefs, const char *version, struct env_list *list)
{
    char hash[17];

    list->n = 0;
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)plan->hash);
    add(list, ENV_SET, "GPUBIND_VERSION", version);
    add(list, ENV_SET, "GPUBIND_PLAN", hash);
    add(list, ENV_SET, "GPUBIND_ROLE", role_name(rank->role));
    add_number(list, ENV_SET, "GPUBIND_LOCAL_RANK", rank->local);
    add_gpus(node, rank, list);
    add_visible(node, plan, rank, prefs, list);
    add_cpus(plan, rank, prefs, list);
    add_nic(node, rank, prefs, list);
    if (node->recorded)
        add(list, ENV_SET, "GPUBIND_RECORDED", "1");
    else
        add_unset(list, "GPUBIND_RECORDED");
    for (int i = 0; i < list->n; i++)
        if (list->item[i].how != ENV_UNSET && !list->item[i].value)
            return -1;
    return 0;
}

void env_list_clear(struct env_list *list)
{
    for (int i = 0; i < list->n; i++)
        free(list->item[i].value);
    list->n = 0;
}
