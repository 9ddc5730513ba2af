/* The plan that the PMIx plugin made for this rank: whether it is kept, and what it says. */
#include "bin/plugin_plan.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/env/visible_devices.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

/* "NAMESPACE.RANK", as the plugin knew this process and as PMIx knows it. */
static bool is_for_us(void)
{
    const char *made_for = variable("GPUBIND_MADE_FOR");
    const char *nspace = variable("PMIX_NAMESPACE");
    size_t length = strlen(nspace);

    return length && strncmp(made_for, nspace, length) == 0 && made_for[length] == '.' &&
           strcmp(made_for + length + 1, variable("PMIX_RANK")) == 0;
}

enum plugin_plan plugin_plan_state(const struct options *options)
{
    uint64_t settings = strtoull(variable("GPUBIND_SETTINGS"), NULL, 16);

    if (strcmp(variable("GPUBIND_MADE_BY"), "plugin") != 0 || !is_for_us())
        return PLUGIN_NONE;
    return !options->settings_digest || options->settings_digest == settings ? PLUGIN_KEPT
                                                                             : PLUGIN_REPLACED;
}

static void restore(const char *name, const char *outer)
{
    if (*outer)
        setenv(name, outer, 1);
    else
        unsetenv(name);
}

/* What the rank would see without the plugin; the order was set with indices only. */
static void restore_visible(void)
{
    const char *set = getenv("GPUBIND_VISIBLE_DEVICES");

    for (int vendor = 0; set && vendor < 3; vendor++) {
        const char *name = visible_variable((enum gpu_vendor)vendor);

        if (!getenv(name) || strcmp(variable(name), set) != 0)
            continue;
        restore(name, variable("GPUBIND_OUTER_VISIBLE_DEVICES"));
        if (vendor == GPU_NVIDIA && isdigit((unsigned char)*set) &&
            strcmp(variable("CUDA_DEVICE_ORDER"), "PCI_BUS_ID") == 0)
            restore("CUDA_DEVICE_ORDER", variable("GPUBIND_OUTER_DEVICE_ORDER"));
        for (int i = 0; vendor == GPU_AMD && i < ENV_ABOVE_ROCM; i++)
            restore(env_above_rocm[i].name, variable(env_above_rocm[i].kept));
        return;
    }
}

/* Variables that were set because the user had not set them. */
static void forget_nic(void)
{
    static const char *const names[] = {"UCX_NET_DEVICES", "FI_CXI_DEVICE_NAME",
                                        "FI_VERBS_DEVICE_NAME"};
    const char *nic = variable("GPUBIND_NIC");
    size_t length = strlen(nic);

    for (int i = 0; length && i < 3; i++) {
        const char *value = variable(names[i]);

        if (strncmp(value, nic, length) == 0 &&
            (!value[length] || strcmp(value + length, ":1") == 0))
            unsetenv(names[i]);
    }
}

void plugin_plan_forget(enum plugin_plan plan)
{
    static const char *const ours[] = {"GPUBIND_MADE_BY", "GPUBIND_MADE_FOR", "GPUBIND_SETTINGS",
                                       "GPUBIND_OUTER_VISIBLE_DEVICES",
                                       "GPUBIND_OUTER_DEVICE_ORDER"};

    if (plan == PLUGIN_REPLACED) {
        restore_visible();
        forget_nic();
    }
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        unsetenv(ours[i]);
    for (int i = 0; i < ENV_ABOVE_ROCM; i++)
        unsetenv(env_above_rocm[i].kept);
}

int plugin_plan_read(struct facts *facts, struct gpubind_error *err)
{
    const char *gpus = variable("GPUBIND_GPU_UUID");

    /* A UUID that could not be read leaves an empty entry. */
    if (!*gpus || *gpus == ',' || strstr(gpus, ",,") || gpus[strlen(gpus) - 1] == ',')
        gpus = variable("GPUBIND_GPU_PCI");
    if (strlen(gpus) >= sizeof facts->planned_gpus)
        return error_set(err, "the plugin gave more GPUs to a rank than gpubind can list");
    /* With a recorded machine the kernel's CPUs are not those of the plan. */
    if (getenv("HWLOC_XMLFILE") &&
        idlist_parse(variable("GPUBIND_CPUS"), "GPUBIND_CPUS", &facts->cpus, err) < 0)
        return -1;
    facts->planned = true;
    facts->planned_hash = strtoull(variable("GPUBIND_PLAN"), NULL, 16);
    facts->planned_master = strcmp(variable("GPUBIND_ROLE"), "master") == 0;
    snprintf(facts->planned_gpus, sizeof facts->planned_gpus, "%s", gpus);
    return 0;
}
